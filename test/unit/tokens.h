/*
 * tokens.h
 *		Random requests for handles and tokens, compared with a model of ownership.
 *
 * The code under test is the server's: gpu/handles.c and gpu/sketch_token.c.
 * tokens_server.h has stand-ins for the PostgreSQL functions that they call.
 *
 * The machine draws its steps from the fuzzer's bytes (fuzz_tokens.c) or from random
 * numbers (test_tokens.c).  Processes of two parallel queries, and one process alone, make
 * values, hand them over by token, redeem tokens, and end transactions and subtransactions.
 * The worker frees, evicts and loses values.  The bytes presented as a token are a good
 * token, a used token, a token of another query, a token with a changed bit, a cut or
 * extended token, or no token, in each form of a varlena.  At all times:
 *
 * - a token can be redeemed once, by a process for which it was made, while the value
 *   exists, and only with all its bits;
 * - other bytes are no token, or cause an error, and change nothing;
 * - the count of each process's handles is right;
 * - a handle that was not handed over has no token number.
 *
 * test/unit/tokens.h
 */
#ifndef QS_TEST_TOKENS_H
#define QS_TEST_TOKENS_H

#include "tokens_server.h"

enum
{
	VALUES = 20,
	SUBTRANSACTIONS = 3,
	TOKEN_BYTES = 24
};

/* ---- the model ---- */

typedef struct token_value
{
	qs_sketch sketch; /* sketch of the process that made or adopted the value last */
	uint64 serial;    /* 0: there is no value */
	int index;        /* index of the handle */
	bool alive;       /* a process owns the value */
	int owner;
	bool in_transfer; /* "bytes" are a redeemable token */
	SubTransactionId subid;
	bool token; /* "bytes" are a token, maybe of an earlier value */
	uint8 bytes[TOKEN_BYTES];
} token_value;

typedef struct token_machine
{
	mutator from;
	token_value value[VALUES];
	int redeemed; /* number of tokens that were redeemed */
} token_machine;

static inline int
me(void)
{
	return (int) (MyProc - process);
}

static inline int
leader_of(int proc)
{
	return process[proc].lockGroupLeader ? (int) (process[proc].lockGroupLeader - process) : proc;
}

static inline void
token_machine_start(token_machine *m, mutator from)
{
	static const int leader[PROCESSES] = { 0, 0, 0, 3, 3, -1 };
	int i;

	memset(m, 0, sizeof(*m));
	m->from = from;
	random_numbers = 0;
	gpu_shared = calloc(1, sizeof(GpuShared) + PROCESSES * sizeof(pg_atomic_uint32));
	REQUIRE(gpu_shared != NULL);
	gpu_shared->proc_count = PROCESSES;
	for (i = 0; i < PROCESSES; i++)
	{
#if PG_VERSION_NUM < 170000
		process[i].pgprocno = i;
#endif
		process[i].pid = 1000 + i;
		process[i].lockGroupLeader = leader[i] < 0 ? NULL : &process[leader[i]];
		subtransaction[i] = TopSubTransactionId;
	}
}

static inline void
forget_sketch(token_value *v)
{
	free(v->sketch.remote);
	memset(&v->sketch, 0, sizeof(v->sketch));
}

static inline void
token_machine_finish(token_machine *m)
{
	int i;

	for (i = 0; i < VALUES; i++)
		forget_sketch(&m->value[i]);
	free(gpu_shared);
	gpu_shared = NULL;
}

/* Returns the handle of a value, or NULL if the value has no handle any more. */
static inline const GpuHandle *
entry_of(const token_value *v)
{
	const GpuHandle *handle = &gpu_shared->handle[v->index];

	return v->serial && handle->serial == v->serial ? handle : NULL;
}

static inline void
check_value(const token_value *v, int *owned)
{
	const GpuHandle *handle = entry_of(v);
	bool is_owned = handle && (handle->state == HANDLE_LIVE || handle->state == HANDLE_LOST);

	REQUIRE(is_owned == v->alive);
	if (handle)
		REQUIRE(handle->in_transfer == v->in_transfer);
	if (!v->alive)
		return;
	owned[v->owner]++;
	REQUIRE(handle->proc == v->owner && handle->pid == process[v->owner].pid);
	REQUIRE(handle->subid == v->subid);
	REQUIRE(!v->in_transfer || leader_of(v->owner) == v->owner);
}

static inline void
check_machine(const token_machine *m)
{
	static const TokenNumber none;
	int owned[PROCESSES] = { 0 };
	uint32 pending_free = 0;
	int i;

	REQUIRE(locks == 0);
	for (i = 0; i < VALUES; i++)
		check_value(&m->value[i], owned);
	for (i = 0; i < PROCESSES; i++)
		REQUIRE(pg_atomic_read_u32(&gpu_shared->handle_count[i]) == (uint32) owned[i]);
	for (i = 0; i < GPU_HANDLES; i++)
	{
		const GpuHandle *handle = &gpu_shared->handle[i];

		pending_free += handle->state == HANDLE_PENDING_FREE;
		REQUIRE((memcmp(&handle->token, &none, sizeof(none)) != 0) == handle->in_transfer);
	}
	REQUIRE(pg_atomic_read_u32(&gpu_shared->pending_frees) == pending_free);
}

/* ---- steps ---- */

static inline token_value *
any_value(token_machine *m)
{
	return &m->value[choose(&m->from, VALUES)];
}

/* Let the current process make a value in a free element. */
static inline void
step_make(token_machine *m)
{
	token_value *v = any_value(m);
	qs_params params = test_params(QS_SUB_WARP, 4, 3, 3, 4, choose(&m->from, 100));
	GpuRef ref;

	if (v->alive || !GpuNewHandle(GPU_FAMILY_SKETCH, &ref))
		return;
	forget_sketch(v);
	qs_init(&v->sketch, &params, &test_heap);
	v->sketch.total = (int64) ref.serial;
	GpuSketchBecomeRemote(&v->sketch, &ref);
	v->serial = ref.serial;
	v->index = ref.index;
	v->alive = true;
	v->in_transfer = false;
	v->owner = me();
	v->subid = GetCurrentSubTransactionId();
}

/*
 * Returns a random value.  If "in_transfer", most of the returned values were handed over.
 * Otherwise, most of the returned values belong to this process.
 */
static inline token_value *
likely_value(token_machine *m, bool in_transfer)
{
	token_value *v = any_value(m);
	int i;

	for (i = 0; i < VALUES && choose(&m->from, 8); i++)
	{
		if (v->alive && (in_transfer ? v->in_transfer : v->owner == me()))
			break;
		v = v == &m->value[VALUES - 1] ? m->value : v + 1;
	}
	return v;
}

/* Write a value's token.  A token from a process that does not own the value cannot be redeemed. */
static inline void
step_hand(token_machine *m)
{
	token_value *v = likely_value(m, false);
	GpuRemote *remote = v->sketch.remote;
	bool again = remote && remote->in_transfer;
	uint8 bytes[TOKEN_BYTES];

	if (remote == NULL)
		return;
	REQUIRE(GpuTokenSize() == sizeof(bytes));
	GpuWriteToken(&v->sketch, (struct varlena *) bytes);
	REQUIRE(!again || memcmp(bytes, v->bytes, sizeof(bytes)) == 0);
	if (!again && v->alive && v->owner == me())
	{
		if (leader_of(me()) != me())
			v->subid = InvalidSubTransactionId;
		v->owner = leader_of(me());
		v->in_transfer = true;
	}
	memcpy(v->bytes, bytes, sizeof(bytes));
	v->token = true;
}

/* Bytes that are presented as a token: a varlena of any form. */
typedef struct presented
{
	uint8 *data; /* allocated by malloc() */
	bool plain;  /* neither compressed nor stored elsewhere */
	uint8 body[2 * TOKEN_BYTES];
	size_t length; /* bytes of the body */
} presented;

static inline void
make_body(token_machine *m, presented *p, const token_value *v)
{
	size_t i;

	p->length = TOKEN_BYTES - VARHDRSZ;
	memcpy(p->body, v->bytes + VARHDRSZ, p->length);
	switch (choose(&m->from, 8))
	{
		case 0:
			p->body[choose(&m->from, p->length)] ^= (uint8) (1 << choose(&m->from, 8));
			break;
		case 1:
			p->length = choose(&m->from, sizeof(p->body));
			break;
		case 2: /* the right magic number, and then random bytes */
			for (i = 4; i < p->length; i++)
				p->body[i] = (uint8) choose(&m->from, 256);
			break;
		case 3: /* zeros: the token number of a handle that was not handed over */
			memset(p->body + 4, 0, p->length - 4);
			break;
		default: /* the token as written */
			break;
	}
}

static inline void
present(token_machine *m, presented *p, const token_value *v)
{
	uint64 form = choose(&m->from, 12);
	size_t header = form < 4 ? VARHDRSZ_SHORT : VARHDRSZ;

	memset(p, 0, sizeof(*p));
	make_body(m, p, v);
	p->plain = form != 0 && form != 4;
	p->data = malloc(Max(header + p->length, sizeof(varattrib_1b_e) + sizeof(varatt_external)));
	REQUIRE(p->data != NULL);
	memcpy(p->data + header, p->body, p->length);
	if (form == 0)
		SET_VARTAG_EXTERNAL(p->data, VARTAG_ONDISK);
	else if (form < 4)
		SET_VARSIZE_SHORT(p->data, header + p->length);
	else if (form == 4)
		SET_VARSIZE_COMPRESSED(p->data, header + p->length);
	else
		SET_VARSIZE(p->data, header + p->length);
}

/* Returns the value that this process can redeem by these bytes, or NULL. */
static inline token_value *
meant_by(token_machine *m, const presented *p)
{
	int i;

	for (i = 0; i < VALUES; i++)
	{
		token_value *v = &m->value[i];

		if (v->alive && v->in_transfer && v->owner == leader_of(me()) &&
			memcmp(v->bytes + VARHDRSZ, p->body, p->length) == 0)
			return v;
	}
	return NULL;
}

/* Redeem the bytes; returns false on an error. */
static inline bool
try_redeem(const presented *p, qs_sketch *sk)
{
	error_code = 0;
	if (setjmp(on_error) != 0)
	{
		locks = 0;
		REQUIRE(error_code == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE);
		return false;
	}
	GpuOpenToken(PointerGetDatum(p->data), sk, &test_heap);
	return true;
}

/* Check that the redeemed sketch is the value of the token, and make this process its owner. */
static inline void
adopt(token_machine *m, token_value *v, const qs_sketch *sk)
{
	const GpuRemote *remote = sk->remote;

	REQUIRE(remote->handle.ref.serial == v->serial);
	REQUIRE(sk->total == (int64) v->serial);
	REQUIRE(memcmp(&sk->params, &v->sketch.params, sizeof(sk->params)) == 0);
	forget_sketch(v);
	v->sketch = *sk;
	v->owner = me();
	v->in_transfer = false;
	v->subid = GetCurrentSubTransactionId();
	m->redeemed++;
}

static inline void
step_redeem(token_machine *m)
{
	const token_value *from = likely_value(m, true);
	presented p;
	bool is_token;
	qs_sketch sk;
	token_value *v;

	present(m, &p, from);
	is_token = p.plain && p.length == TOKEN_BYTES - VARHDRSZ && memcmp(p.body, "QSG2", 4) == 0;
	REQUIRE(GpuIsToken(PointerGetDatum(p.data)) == is_token);
	if (is_token)
	{
		v = meant_by(m, &p);
		REQUIRE(try_redeem(&p, &sk) == (v != NULL));
		if (v)
			adopt(m, v, &sk);
	}
	free(p.data);
}

static inline void
lose_value(token_value *v)
{
	v->alive = v->in_transfer = false;
}

/* Call GpuDropHandle() for a value in the current process, which may not own the value. */
static inline void
step_drop(token_machine *m)
{
	token_value *v = any_value(m);
	const GpuRemote *remote = v->sketch.remote;

	if (remote == NULL)
		return;
	GpuDropHandle(&remote->handle.ref);
	if (v->alive && v->owner == me())
		lose_value(v);
}

static inline void
step_end(token_machine *m)
{
	SubTransactionId subid = choose(&m->from, 3) ? 1 + (SubTransactionId) choose(&m->from, 3) : 0;
	SubTransactionId parent = 1 + (SubTransactionId) choose(&m->from, 3);
	int i;

	if (subid == 0)
		GpuDropHandles(InvalidSubTransactionId, InvalidSubTransactionId);
	else
		GpuDropHandles(subid, parent);
	for (i = 0; i < VALUES; i++)
	{
		token_value *v = &m->value[i];

		if (!v->alive || v->owner != me() || (subid != 0 && v->subid != subid && v->subid != 0))
			continue;
		if (subid == 0 || v->in_transfer)
			lose_value(v);
		else
			v->subid = parent;
	}
}

static inline void
step_raise(token_machine *m)
{
	SubTransactionId from = 1 + (SubTransactionId) choose(&m->from, SUBTRANSACTIONS);
	SubTransactionId to = 1 + (SubTransactionId) choose(&m->from, SUBTRANSACTIONS);
	int i;

	GpuRaiseSubHandles(from, to);
	for (i = 0; i < VALUES; i++)
		if (m->value[i].alive && m->value[i].owner == me() && m->value[i].subid == from)
			m->value[i].subid = to;
}

/*
 * Let the worker free, evict or lose values, or reset all handles.  Or let a process publish a
 * value.
 */
static inline void
step_worker(token_machine *m)
{
	int index[4];
	int count;
	token_value *v = any_value(m);
	const GpuRemote *remote = v->sketch.remote;
	StoredName key = { 0 };

	switch (choose(&m->from, 8))
	{
		case 0:
			GpuResetHandles();
			break;
		case 1:
			(void) GpuEvict(-1, false, 1 + choose(&m->from, 3), choose(&m->from, 2));
			break;
		case 2:
			if (remote)
				(void) GpuLoseHandle(&remote->handle.ref); /* the handle keeps its owner */
			break;
		case 3: /* a process that looks up a stored value publishes it; the worker does not */
			if (remote && v->alive && v->owner == me() && entry_of(v)->state == HANDLE_LIVE)
			{
				GpuPublishHandle(&remote->handle.ref, &key);
				lose_value(v);
			}
			break;
		default:
			count = GpuTakePending(index, 4, 0);
			while (count > 0)
				GpuHandleFreed(index[--count]);
	}
}

/* Make one step in a random process. */
static inline void
token_machine_step(token_machine *m)
{
	MyProc = &process[choose(&m->from, PROCESSES)];
	MyProcPid = MyProc->pid;
	if (choose(&m->from, 8) == 0)
		subtransaction[me()] = 1 + (SubTransactionId) choose(&m->from, SUBTRANSACTIONS);
	switch (choose(&m->from, 16))
	{
		case 0:
			step_end(m);
			break;
		case 1:
			step_raise(m);
			break;
		case 2:
			step_drop(m);
			break;
		case 3:
			step_worker(m);
			break;
		case 4:
		case 5:
		case 6:
			step_make(m);
			break;
		case 7:
		case 8:
		case 9:
			step_hand(m);
			break;
		default:
			step_redeem(m);
	}
	check_machine(m);
}

#endif
