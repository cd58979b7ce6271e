// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the per-CPU page lists: which list a block belongs to, and
 * how much may stay there. No page is allocated.
 */
#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mmzone.h>
#include <linux/module.h>
#include <linux/string.h>

#include "../pcp.h"

#define FIRST_LARGE	(PAGE_ALLOC_COSTLY_ORDER + 1)
#define LAST_ORDER	13	/* 512 MiB with 64 KiB pages: no PMD order is larger */
#define NR_ORDERS	(LAST_ORDER + 1)
#define NR_INDEXES	(NR_LOWORDER_PCP_LISTS + 2 * NR_PCP_LARGE_PAIRS)

/* Numbers that are the same in every run. */
static u32 next_random(u32 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static u32 random_below(u32 *state, u32 end)
{
	return next_random(state) % end;
}

/*
 * Part 1: the lists
 */

/* The configurations: no THP (0) or a PMD order of 4 to 13, MAX_PAGE_ORDER 4 to 13. */
#define NR_CONFIGS	110

static unsigned int config_pmd(int config)
{
	return config % 11 ? config % 11 + 3 : 0;
}

static unsigned int config_max(int config)
{
	return config / 11 + 4;
}

static void the_listed_orders(struct kunit *test)
{
	unsigned int order;
	int config;

	for (config = 0; config < NR_CONFIGS; config++) {
		unsigned int pmd = config_pmd(config), max = config_max(config);

		for (order = 0; order <= LAST_ORDER; order++) {
			bool want, nolock;

			switch (order) {
			case 0 ... 3:
				want = true;
				break;
			case 4 ... 8:
				want = pmd > 0 && order <= max;
				break;
			default:
				want = pmd == order && order <= max;
			}
			nolock = order < 4 || order == pmd;

			KUNIT_EXPECT_EQ_MSG(test, __pcp_order_listed(order, pmd, max), want,
					    "order %u, PMD order %u, MAX_PAGE_ORDER %u",
					    order, pmd, max);
			KUNIT_EXPECT_EQ_MSG(test, __pcp_order_listed_nolock(order, pmd), nolock,
					    "order %u, PMD order %u", order, pmd);
		}
	}
}

static void every_block_finds_back(struct kunit *test)
{
	unsigned int order;
	int config, mt;

	for (config = 0; config < NR_CONFIGS; config++) {
		unsigned int pmd = config_pmd(config), max = config_max(config);
		/* What is on a list: the order plus 1, and whether it is movable. */
		u8 holds[NR_INDEXES] = {}, movable[NR_INDEXES] = {};
		unsigned int nr_lists = pmd ? NR_INDEXES : NR_LOWORDER_PCP_LISTS;

		for (order = 0; order <= max; order++) {
			if (!__pcp_order_listed(order, pmd, max))
				continue;

			for (mt = 0; mt < MIGRATE_PCPTYPES; mt++) {
				unsigned int index = pcp_list_index(mt, order);

				KUNIT_ASSERT_LT(test, index, nr_lists);
				KUNIT_EXPECT_EQ_MSG(test, __pcp_list_order(index, pmd), order,
						    "list %u, PMD order %u", index, pmd);

				/* No list has two orders, nor CMA beside unmovable. */
				if (holds[index]) {
					KUNIT_EXPECT_EQ_MSG(test, holds[index], order + 1,
							    "list %u", index);
					KUNIT_EXPECT_EQ_MSG(test, movable[index],
							    mt == MIGRATE_MOVABLE,
							    "list %u", index);
				}
				holds[index] = order + 1;
				movable[index] = mt == MIGRATE_MOVABLE;
			}
		}
	}
}

static void small_orders_keep_their_lists(struct kunit *test)
{
	unsigned int order;
	int mt, index = 0;

	/* As it was before there were others, or they move to other cache lines. */
	for (order = 0; order <= PAGE_ALLOC_COSTLY_ORDER; order++)
		for (mt = 0; mt < MIGRATE_PCPTYPES; mt++)
			KUNIT_EXPECT_EQ(test, pcp_list_index(mt, order), index++);
	KUNIT_EXPECT_EQ(test, index, NR_LOWORDER_PCP_LISTS);
	KUNIT_EXPECT_LE(test, offsetof(struct per_cpu_pages, lists[NR_LOWORDER_PCP_LISTS]),
			offsetof(struct per_cpu_pages, large));
}

static void the_kernel_has_its_lists(struct kunit *test)
{
	unsigned int order;
	int mt;

	for (order = 0; order <= MAX_PAGE_ORDER; order++) {
		if (!pcp_order_listed(order)) {
			KUNIT_EXPECT_TRUE(test, pcp_order_is_large(order));
			continue;
		}
		for (mt = 0; mt < MIGRATE_PCPTYPES; mt++) {
			KUNIT_ASSERT_LT(test, pcp_list_index(mt, order), NR_PCP_LISTS);
			KUNIT_EXPECT_EQ(test, pcp_list_order(pcp_list_index(mt, order)), order);
		}
	}
}

static void the_switch_leaves_the_pmd_order(struct kunit *test)
{
	unsigned int order;
	int config;

	for (config = 0; config < NR_CONFIGS; config++) {
		unsigned int pmd = config_pmd(config), max = config_max(config);
		u32 on = __pcp_large_orders(true, pmd, max);
		u32 off = __pcp_large_orders(false, pmd, max);

		for (order = 0; order <= LAST_ORDER; order++)
			KUNIT_EXPECT_EQ(test, !!(on & BIT(order)),
					order > 3 && __pcp_order_listed(order, pmd, max));
		KUNIT_EXPECT_EQ(test, off, pmd && pmd <= max ? (u32)BIT(pmd) : 0);
	}
}

/*
 * Part 2: the budgets, against a model that is slow and knows every block
 */

struct model {
	int nr[NR_ORDERS];	/* blocks on the lists */
	bool used[NR_ORDERS];	/* orders in use */
	bool freed_to[NR_ORDERS];
	int limit, share, room, batch;
	int in_a_row;		/* refills */
	int idle;
	u32 orders;
};

static int model_count(const struct model *m)
{
	int order, count = 0;

	for (order = FIRST_LARGE; order <= LAST_ORDER; order++)
		count += m->nr[order] * (1 << order);
	return count;
}

static int model_bound(const struct model *m)
{
	int order, bound = m->share;

	for (order = FIRST_LARGE; order <= LAST_ORDER; order++) {
		int two = 2 * (1 << order);

		if (!m->used[order])
			continue;
		if (two > m->room)
			two = m->room;
		if (two > bound)
			bound = two;
	}
	return bound;
}

/* Whole blocks until a batch is full. */
static int model_hold(const struct model *m, int order)
{
	int pages = 0;

	do
		pages += 1 << order;
	while (pages < m->batch);
	return pages;
}

static bool model_stays(const struct model *m, int order)
{
	int block = 1 << order;

	return (m->orders >> order) % 2 && (block <= m->share || block <= m->room);
}

static int model_freed(struct model *m, int order, unsigned int pressure)
{
	int high, drain;

	m->nr[order]++;
	m->used[order] = true;
	m->freed_to[order] = true;
	m->in_a_row /= 2;
	m->idle = 0;

	if (pressure & PCP_PRESSURE_BLOCKS)
		m->limit /= 2;
	if (pressure) {
		m->limit -= model_hold(m, order);
		if (m->limit < 0)
			m->limit = 0;
		high = m->limit;
	}
	if (pressure == 0 || pressure == PCP_PRESSURE_LOW)
		high = m->limit + model_hold(m, order);
	if (high > model_bound(m))
		high = model_bound(m);

	if (model_count(m) <= high)
		return 0;
	drain = model_count(m) - high;
	if (drain < model_hold(m, order))
		drain = model_hold(m, order);
	return drain < model_count(m) ? drain : model_count(m);
}

static int model_refill(struct model *m, int order, unsigned int pressure)
{
	int i, earned = 1, most = model_hold(m, order) / (1 << order);

	if (!model_stays(m, order))
		return 1;
	m->used[order] = true;
	if (pressure) {
		m->in_a_row = 0;
		return 1;
	}

	for (i = 0; i < m->in_a_row; i++)
		earned *= 2;
	if (earned < most)
		m->in_a_row++;
	else
		earned = most;

	/* One is for the caller, the others must have room. */
	while (earned > 1 && model_count(m) + (earned - 1) * (1 << order) > model_bound(m))
		earned--;
	return earned;
}

static void model_refilled(struct model *m, int order, int blocks, bool fell_back,
			   unsigned int pressure)
{
	m->nr[order] += blocks;

	if (fell_back) {
		m->limit /= 2;
		m->in_a_row = 0;
	} else if (!pressure && model_stays(m, order)) {
		m->limit += blocks * (1 << order);
		if (m->limit > model_bound(m))
			m->limit = model_bound(m);
	}
}

static int model_decay(struct model *m)
{
	int order, left = PCP_DECAY_RUNS - m->idle, step = 0;

	while (step * left < m->limit)
		step++;
	m->limit -= step;
	if (m->idle < PCP_DECAY_RUNS - 1)
		m->idle++;

	for (order = LAST_ORDER; order >= FIRST_LARGE && !m->nr[order]; order--)
		m->used[order] = false;

	return model_count(m) > m->limit ? model_count(m) - m->limit : 0;
}

/*
 * A CPU: the code under test does the sums, the model checks them, and both see
 * the same blocks come and go.
 */
struct sim {
	struct per_cpu_pages pcp;
	struct model m;
	unsigned long holds;	/* of zone->lock, for a refill or a drain */
	unsigned int pmd;
};

/* Each order has one of its lists in use. */
static unsigned int sim_list(int order)
{
	return pcp_list_index(order & 1 ? MIGRATE_MOVABLE : MIGRATE_RECLAIMABLE, order);
}

static void sim_check(struct kunit *test, struct sim *cpu)
{
	const struct pcp_large *pl = &cpu->pcp.large;
	int order, sum = 0, i;

	KUNIT_ASSERT_EQ(test, pl->count, model_count(&cpu->m));
	KUNIT_ASSERT_EQ(test, pl->limit, cpu->m.limit);
	KUNIT_ASSERT_EQ(test, pcp_large_bound(pl), model_bound(&cpu->m));
	for (order = FIRST_LARGE; order <= LAST_ORDER; order++)
		if (order <= 8 || order == cpu->pmd)
			KUNIT_ASSERT_EQ(test,
					pl->blocks[sim_list(order) - NR_LOWORDER_PCP_LISTS],
					cpu->m.nr[order]);
	for (i = 0; i < ARRAY_SIZE(pl->blocks); i++)
		sum += pl->blocks[i];
	for (order = FIRST_LARGE; order <= LAST_ORDER; order++)
		sum -= cpu->m.nr[order];
	KUNIT_ASSERT_EQ(test, sum, 0);
	KUNIT_ASSERT_EQ(test, pcp_nr_pages(&cpu->pcp), cpu->pcp.count + model_count(&cpu->m));
	KUNIT_ASSERT_EQ(test, pcp_large_todo(pl), model_count(&cpu->m) || cpu->m.limit);
}

static void sim_set(struct sim *cpu, int share, int room, u32 orders)
{
	int bound;

	pcp_large_set(&cpu->pcp.large, share, room, orders);
	cpu->m.share = share;
	cpu->m.room = room;
	cpu->m.orders = orders;
	bound = model_bound(&cpu->m);
	if (cpu->m.limit > bound)
		cpu->m.limit = bound;
}

static void sim_init(struct sim *cpu, unsigned int pmd, int batch, int share, int room)
{
	memset(cpu, 0, sizeof(*cpu));
	cpu->pmd = pmd;
	cpu->m.batch = batch;
	cpu->pcp.batch = batch;
	/* Small blocks are there all the time, and none of this is their business. */
	cpu->pcp.count = 1234;
	cpu->pcp.high = 2345;
	cpu->pcp.free_count = 345;
	sim_set(cpu, share, room, __pcp_large_orders(true, pmd, LAST_ORDER));
}

static void sim_check_small(struct kunit *test, const struct sim *cpu)
{
	KUNIT_EXPECT_EQ(test, cpu->pcp.count, 1234);
	KUNIT_EXPECT_EQ(test, cpu->pcp.high, 2345);
	KUNIT_EXPECT_EQ(test, cpu->pcp.free_count, 345);
}

/* The order with most pages, the smallest of them, of those not freed to lately. */
static int model_victim(struct model *m)
{
	int order, victim = 0, old = 0;

	for (order = FIRST_LARGE; order <= LAST_ORDER; order++)
		old += m->nr[order] && !m->freed_to[order];
	if (!old)
		memset(m->freed_to, 0, sizeof(m->freed_to));

	for (order = FIRST_LARGE; order <= LAST_ORDER; order++)
		if (m->nr[order] && !m->freed_to[order] &&
		    (!victim || m->nr[order] * (1 << order) > m->nr[victim] * (1 << victim)))
			victim = order;
	return victim;
}

/* What free_pcp_large_bulk() and its caller do, for a hold of @hold pages at most. */
static void sim_drain(struct kunit *test, struct sim *cpu, int want, int hold)
{
	struct pcp_large *pl = &cpu->pcp.large;
	int left = want, before = pl->count, largest = 0;

	while (left > 0 && pl->count) {
		int asked = min(left, hold), rounded, freed = 0, least = 0, most = 0;
		int order = 0;

		cpu->holds++;
		while (pl->count) {
			int nr_pages;

			if (!cpu->m.nr[order]) {
				order = model_victim(&cpu->m);
				KUNIT_ASSERT_EQ(test, __pcp_large_victim(pl, cpu->pmd),
						sim_list(order));
			}
			nr_pages = 1 << order;
			if (!pcp_drain_more(asked, freed, nr_pages, least))
				break;

			pcp_large_removed(pl, sim_list(order), order);
			cpu->m.nr[order]--;
			freed += nr_pages;
			least = least ? min(least, nr_pages) : nr_pages;
			most = max(most, nr_pages);
			largest = max(largest, nr_pages);
		}

		KUNIT_ASSERT_LT(test, 0, freed);
		rounded = DIV_ROUND_UP(asked, most) * most;
		KUNIT_ASSERT_LE_MSG(test, freed, rounded, "asked for %d", asked);
		left -= freed;
	}

	KUNIT_ASSERT_LE_MSG(test, min(want, before), before - pl->count, "drained");
	if (want)
		KUNIT_ASSERT_LE_MSG(test, before - pl->count, want + largest - 1, "drained");
	sim_check(test, cpu);
}

static void sim_free(struct kunit *test, struct sim *cpu, int order, unsigned int pressure)
{
	struct pcp_large *pl = &cpu->pcp.large;
	int drain;

	KUNIT_ASSERT_EQ(test, pcp_large_stays(pl, order), model_stays(&cpu->m, order));
	if (!pcp_large_stays(pl, order)) {
		cpu->holds++;
		return;
	}

	drain = pcp_large_freed(pl, cpu->pcp.batch, sim_list(order), order, pressure);
	KUNIT_ASSERT_EQ(test, drain, model_freed(&cpu->m, order, pressure));
	sim_drain(test, cpu, drain, pcp_hold(cpu->pcp.batch, order));
	KUNIT_ASSERT_LE_MSG(test, pl->count, model_bound(&cpu->m), "after a free");
	KUNIT_ASSERT_LE_MSG(test, pl->count,
			    pl->limit + (pressure & ~PCP_PRESSURE_LOW ?
					 0 : model_hold(&cpu->m, order)),
			    "after a free");
}

/* The buddy allocator has @have blocks for a refill. */
static void sim_alloc(struct kunit *test, struct sim *cpu, int order, int have, bool fell_back,
		      unsigned int pressure)
{
	struct pcp_large *pl = &cpu->pcp.large;
	int want;

	if (!cpu->m.nr[order]) {
		int room = max(model_bound(&cpu->m) - model_count(&cpu->m), 0);

		want = pcp_large_refill(pl, cpu->pcp.batch, order, pressure);
		KUNIT_ASSERT_EQ(test, want, model_refill(&cpu->m, order, pressure));
		KUNIT_ASSERT_LE_MSG(test, want << order, model_hold(&cpu->m, order), "refill");
		room = max(room, model_bound(&cpu->m) - model_count(&cpu->m));
		KUNIT_ASSERT_LE_MSG(test, (want - 1) << order, room, "refill");
		if (pressure)
			KUNIT_ASSERT_EQ(test, want, 1);

		cpu->holds++;
		want = min(want, have);
		pcp_large_refilled(pl, sim_list(order), order, want, fell_back, pressure);
		model_refilled(&cpu->m, order, want, fell_back, pressure);
		if (!want)
			return;
	}

	pcp_large_removed(pl, sim_list(order), order);
	cpu->m.nr[order]--;
	sim_check(test, cpu);
}

/* @nr allocations and then as many frees, with memory enough. */
static void sim_burst(struct kunit *test, struct sim *cpu, int order, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		sim_alloc(test, cpu, order, 99, false, 0);
	for (i = 0; i < nr; i++)
		sim_free(test, cpu, order, 0);
}

static void sim_decay(struct kunit *test, struct sim *cpu)
{
	int drain = pcp_large_decay(&cpu->pcp.large);

	KUNIT_ASSERT_EQ(test, drain, model_decay(&cpu->m));
	sim_drain(test, cpu, drain, cpu->pcp.batch);
	KUNIT_ASSERT_LE_MSG(test, cpu->pcp.large.count, cpu->m.limit, "after a decay");
}

static const unsigned int pmd_orders[] = { 4, 5, 8, 9, 10, 11, 13 };

static void random_sequences(struct kunit *test)
{
	u32 state = 20260101;
	int seq, op;

	for (seq = 0; seq < 200; seq++) {
		unsigned int pmd = pmd_orders[seq % ARRAY_SIZE(pmd_orders)];
		struct sim cpu;

		sim_init(&cpu, pmd, random_below(&state, 2) ? 63 : 1 + random_below(&state, 300),
			 random_below(&state, 1 << random_below(&state, 16)),
			 random_below(&state, 1 << random_below(&state, 17)));

		for (op = 0; op < 400; op++) {
			int order = FIRST_LARGE + random_below(&state, 6);
			unsigned int pressure = 0;

			if (order > 8)
				order = max(pmd, 8U);
			if (!random_below(&state, 8))
				pressure = 1 + random_below(&state, 7);

			/* Runs of allocations and of frees, of one order mostly. */
			switch (random_below(&state, 32)) {
			case 0 ... 14:
				sim_alloc(test, &cpu, order, random_below(&state, 9),
					  !random_below(&state, 16), pressure);
				break;
			case 15 ... 29:
				sim_free(test, &cpu, order, pressure);
				break;
			case 30:
				sim_decay(test, &cpu);
				break;
			default:
				if (!random_below(&state, 4))
					sim_set(&cpu, random_below(&state, 4096),
						random_below(&state, 32768),
						random_below(&state, 2) ?
						0 : next_random(&state));
				break;
			}
			sim_check(test, &cpu);
		}
		sim_check_small(test, &cpu);
	}
}

static void an_idle_cpu_holds_nothing(struct kunit *test)
{
	u32 state = 7;
	int seq, run, i;

	for (seq = 0; seq < 100; seq++) {
		unsigned int pmd = pmd_orders[seq % ARRAY_SIZE(pmd_orders)];
		int order, last, most = 0;
		struct sim cpu;

		sim_init(&cpu, pmd, 63, 1 << random_below(&state, 20), 2 << pmd);
		for (i = 0; i < 300; i++) {
			order = FIRST_LARGE + random_below(&state, 5);
			sim_alloc(test, &cpu, order, 9, false, 0);
		}
		for (i = 0; i < 300; i++) {
			order = FIRST_LARGE + random_below(&state, 5);
			sim_free(test, &cpu, order, 0);
		}

		/* In steps, none much larger than the others. */
		last = cpu.pcp.large.limit;
		for (run = 0; run < 10; run++) {
			int before = cpu.pcp.large.limit;

			sim_decay(test, &cpu);
			most = max(most, before - cpu.pcp.large.limit);
		}
		KUNIT_EXPECT_EQ(test, cpu.pcp.large.count, 0);
		KUNIT_EXPECT_EQ(test, cpu.pcp.large.limit, 0);
		KUNIT_EXPECT_FALSE(test, pcp_large_todo(&cpu.pcp.large));
		KUNIT_EXPECT_LE(test, most, last / PCP_DECAY_RUNS + PCP_DECAY_RUNS);
		sim_check_small(test, &cpu);
	}
}

static void bursts_take_no_lock(struct kunit *test)
{
	int order, burst, round;

	for (order = FIRST_LARGE; order <= 9; order++) {
		for (burst = 1; burst <= 8; burst++) {
			struct sim cpu;

			/* Room for 8 blocks of order 9, or a little more than two. */
			sim_init(&cpu, 9, 63, 8 << 9, 0);
			for (round = 0; round < 1100; round++) {
				if (round == 100)
					cpu.holds = 0;
				/* A burst takes microseconds, a decay comes each second. */
				if (round % 500 == 499)
					sim_decay(test, &cpu);
				sim_burst(test, &cpu, order, burst);
			}
			/* Of 1000 pairs and more: at most 20. */
			KUNIT_EXPECT_LE_MSG(test, cpu.holds, 20UL, "order %d, bursts of %d",
					    order, burst);
			sim_check_small(test, &cpu);
		}
	}
}

static void freed_on_another_cpu(struct kunit *test)
{
	static const int most[] = { [4] = 500, [5] = 1000, [6] = 2000, [7] = 2000, [8] = 2000 };
	static struct sim a, b;
	int order, i;

	for (order = 4; order <= 8; order++) {
		sim_init(&a, 9, 63, 2048, 4096);
		sim_init(&b, 9, 63, 2048, 4096);
		for (i = 0; i < 1100; i++) {
			if (i == 100) {
				a.holds = 0;
				b.holds = 0;
			}
			sim_alloc(test, &a, order, 99, false, 0);
			sim_free(test, &b, order, 0);
		}
		KUNIT_EXPECT_LE_MSG(test, a.holds + b.holds, (unsigned long)most[order] + 4,
				    "order %d", order);
		/* Who only frees needs no stock, who only allocates neither. */
		KUNIT_EXPECT_LE(test, b.pcp.large.count, model_hold(&b.m, order));
		KUNIT_EXPECT_LE(test, a.pcp.large.count, model_hold(&a.m, order));
	}
}

static void one_block_for_a_single_request(struct kunit *test)
{
	int order;

	for (order = FIRST_LARGE; order <= 9; order++) {
		struct sim cpu;

		sim_init(&cpu, 9, 63, 4096, 0);
		sim_alloc(test, &cpu, order, 99, false, 0);
		KUNIT_EXPECT_EQ(test, cpu.pcp.large.count, 0);

		/* Frees take back what a run of allocations has earned. */
		sim_alloc(test, &cpu, order, 99, false, 0);
		while (cpu.m.nr[order])
			sim_alloc(test, &cpu, order, 99, false, 0);
		sim_free(test, &cpu, order, 0);
		sim_free(test, &cpu, order, 0);
		KUNIT_EXPECT_EQ(test, cpu.pcp.large.streak, 0);
	}
}

static void pressure_takes_it_back(struct kunit *test)
{
	unsigned int pressure;
	int i, limit[8] = {}, start;

	for (pressure = 1; pressure < 8; pressure++) {
		const int kept = pressure == PCP_PRESSURE_LOW ? 1 << 6 : 0;
		struct sim cpu;

		sim_init(&cpu, 9, 63, 4096, 0);
		sim_burst(test, &cpu, 6, 64);
		start = cpu.pcp.large.limit;
		KUNIT_ASSERT_EQ(test, cpu.pcp.large.count, 4096);

		/* Nothing grows ... */
		sim_alloc(test, &cpu, 4, 99, false, pressure);
		KUNIT_EXPECT_EQ(test, cpu.pcp.large.limit, start);

		/* ... every free shrinks ... */
		sim_free(test, &cpu, 6, pressure);
		limit[pressure] = cpu.pcp.large.limit;
		KUNIT_EXPECT_LT(test, limit[pressure], start);
		KUNIT_EXPECT_LE(test, cpu.pcp.large.count, limit[pressure] + kept);

		/* ... and soon nothing is kept, not even the last one freed: one hold at most. */
		for (i = 0; i < 64; i++)
			sim_free(test, &cpu, 6, pressure);
		KUNIT_EXPECT_EQ(test, cpu.pcp.large.limit, 0);
		KUNIT_EXPECT_EQ(test, cpu.pcp.large.count, kept);
	}
	KUNIT_EXPECT_LT(test, limit[PCP_PRESSURE_BLOCKS], limit[PCP_PRESSURE_RECLAIM]);
	KUNIT_EXPECT_LT(test, limit[PCP_PRESSURE_BLOCKS], limit[PCP_PRESSURE_LOW]);
}

static void the_longest_unused_list_goes_first(struct kunit *test)
{
	struct pcp_large pl = {};
	unsigned int i;

	KUNIT_EXPECT_EQ(test, __pcp_large_victim(&pl, 9), NR_LOWORDER_PCP_LISTS);
	for (i = 0; i < ARRAY_SIZE(pl.blocks); i++) {
		pl.blocks[i] = 2;
		KUNIT_EXPECT_EQ(test, __pcp_large_victim(&pl, 9), NR_LOWORDER_PCP_LISTS + i);
		/* Of two that are as long the first */
		pl.blocks[i ^ 1] = i & 1 ? 3 : 2;
		KUNIT_EXPECT_EQ(test, __pcp_large_victim(&pl, 9),
				NR_LOWORDER_PCP_LISTS + (i & ~1));
		pl.blocks[i ^ 1] = 0;
		pl.blocks[i] = 0;
	}
	/* Pages count, not blocks */
	pl.blocks[0] = 31;
	pl.blocks[2 * PCP_SPARE_PAIR] = 1;
	KUNIT_EXPECT_EQ(test, __pcp_large_victim(&pl, 9),
			NR_LOWORDER_PCP_LISTS + 2 * PCP_SPARE_PAIR);
	pl.blocks[0] = 33;
	KUNIT_EXPECT_EQ(test, __pcp_large_victim(&pl, 9), NR_LOWORDER_PCP_LISTS);
	/* Not the one in use, as long as there is another */
	pl.used = BIT(0);
	KUNIT_EXPECT_EQ(test, __pcp_large_victim(&pl, 9),
			NR_LOWORDER_PCP_LISTS + 2 * PCP_SPARE_PAIR);
	pl.used |= BIT(2 * PCP_SPARE_PAIR);
	KUNIT_EXPECT_EQ(test, __pcp_large_victim(&pl, 9), NR_LOWORDER_PCP_LISTS);
	KUNIT_EXPECT_EQ(test, pl.used, 0);
}

static void an_old_list_gives_way(struct kunit *test)
{
	struct sim cpu;
	int order, round;

	/* All there may be is of orders 4 to 7, and nobody wants it any more ... */
	sim_init(&cpu, 9, 63, 4096, 0);
	for (order = 4; order < 8; order++) {
		sim_burst(test, &cpu, order, 1024 >> order);
		KUNIT_EXPECT_LE(test, 1024 >> order, cpu.m.nr[order]);
	}

	/* ... when bursts of order 8 begin: they soon take no lock. */
	for (round = 0; round < 1020; round++) {
		if (round == 20)
			cpu.holds = 0;
		sim_burst(test, &cpu, 8, 8);
	}
	KUNIT_EXPECT_LE(test, cpu.holds, 20UL);
}

static void who_only_allocates_keeps_nothing_old(struct kunit *test)
{
	struct sim cpu;
	int i, run;

	sim_init(&cpu, 9, 63, 4096, 0);
	sim_burst(test, &cpu, 8, 8);
	KUNIT_ASSERT_EQ(test, cpu.m.nr[8], 8);

	for (run = 0; run < 10; run++) {
		for (i = 0; i < 1000; i++)
			sim_alloc(test, &cpu, 4, 99, false, 0);
		sim_decay(test, &cpu);
	}
	KUNIT_EXPECT_EQ(test, cpu.pcp.large.count, 0);
}

static void a_fallback_takes_half(struct kunit *test)
{
	struct sim cpu;
	int i, limit;

	sim_init(&cpu, 9, 63, 4096, 0);
	for (i = 0; i < 8; i++)
		sim_alloc(test, &cpu, 8, 1, false, 0);
	limit = cpu.pcp.large.limit;
	KUNIT_ASSERT_EQ(test, limit, 8 << 8);

	sim_alloc(test, &cpu, 8, 1, true, 0);
	KUNIT_EXPECT_EQ(test, cpu.pcp.large.limit, limit / 2);
	KUNIT_EXPECT_EQ(test, cpu.pcp.large.streak, 0);
}

static void a_boot_pageset_holds_nothing(struct kunit *test)
{
	struct pcp_large zero = {};
	unsigned int order;

	for (order = FIRST_LARGE; order <= LAST_ORDER; order++) {
		KUNIT_EXPECT_FALSE(test, pcp_large_stays(&zero, order));
		KUNIT_EXPECT_EQ(test, pcp_large_refill(&zero, 1, order, 0), 1);
		/* What a refill brings for the caller earns nothing. */
		pcp_large_refilled(&zero, sim_list(order), order, 1, false, 0);
		pcp_large_removed(&zero, sim_list(order), order);
		KUNIT_EXPECT_FALSE(test, pcp_large_todo(&zero));
	}

	/* Nor one whose zone is being taken apart, or that is switched off. */
	zero.limit = 4096;
	zero.share = 4096;
	zero.room = 4096;
	zero.orders = BIT(4);
	KUNIT_EXPECT_TRUE(test, pcp_large_stays(&zero, 4));
	KUNIT_EXPECT_FALSE(test, pcp_large_stays(&zero, 5));
	pcp_large_set(&zero, 0, 0, ~0U);
	KUNIT_EXPECT_FALSE(test, pcp_large_stays(&zero, 4));
	KUNIT_EXPECT_EQ(test, zero.limit, 0);
}

static void check_zone_bound(struct kunit *test, unsigned long managed, unsigned int local,
			     unsigned int cpus, int order)
{
	struct pcp_large pl = { .two = 2 << order };
	unsigned long two = 2UL << order, near, far, sum;

	pcp_large_share(managed, local, cpus, true, 0, &pl.share, &pl.room);
	near = pcp_large_bound(&pl);
	pcp_large_share(managed, local, cpus, false, 0, &pl.share, &pl.room);
	far = pcp_large_bound(&pl);
	sum = local * near + (cpus - local) * far;

	/* 1/64, but room for two blocks, as long as they are no more than 1/16. */
	KUNIT_EXPECT_LE(test, sum, managed / 64 + cpus * two);
	KUNIT_EXPECT_LE(test, sum, managed / 64 + managed / 16);
	if (cpus * two <= managed / 16) {
		KUNIT_EXPECT_LE(test, two, near);
		KUNIT_EXPECT_EQ(test, two, far);
	}
}

static void the_bound_of_a_zone(struct kunit *test)
{
	static const int orders[] = { 4, 6, 8, 9 };
	unsigned long managed;
	unsigned int cpus, local, i;
	int share, room;

	/* 4 KiB pages: 1 CPU with 256 MB, one of 256 with 512 GB */
	pcp_large_share(256UL << 8, 1, 1, true, 0, &share, &room);
	KUNIT_EXPECT_EQ(test, share, 4 << 8);
	pcp_large_share(512UL << 18, 256, 256, true, 0, &share, &room);
	KUNIT_EXPECT_EQ(test, share, 32 << 8);

	/* No zone is too large for the arithmetic. */
	pcp_large_share(ULONG_MAX, 1, 1, true, 0, &share, &room);
	KUNIT_EXPECT_GT(test, share, 0);
	KUNIT_EXPECT_GT(test, share + room, 0);

	for (managed = 1000; managed < 100000000UL; managed = managed * 3 + 7)
		for (cpus = 1; cpus <= 512; cpus *= 2)
			for (local = 1; local <= cpus; local *= 2)
				for (i = 0; i < ARRAY_SIZE(orders); i++)
					check_zone_bound(test, managed, local, cpus, orders[i]);
}

static void within_a_fixed_limit(struct kunit *test)
{
	int share, room, fixed, order;

	for (fixed = 1; fixed < 100000; fixed = fixed * 2 + 1) {
		struct pcp_large pl = {};

		pcp_large_share(100000000UL, 4, 8, true, fixed, &share, &room);
		KUNIT_EXPECT_LE(test, share, fixed / 4);
		pcp_large_set(&pl, share, room, ~0U);
		for (order = FIRST_LARGE; order <= LAST_ORDER; order++) {
			pl.two = 2 << order;
			KUNIT_EXPECT_LE(test, pcp_large_bound(&pl), fixed / 4);
		}
		pcp_large_share(100000000UL, 4, 8, false, fixed, &share, &room);
		KUNIT_EXPECT_EQ(test, share + room, 0);
	}
}

static void a_hold_is_a_batch_of_whole_blocks(struct kunit *test)
{
	int order, batch;

	for (batch = 1; batch < 600; batch++) {
		for (order = 0; order <= LAST_ORDER; order++) {
			struct model m = { .batch = batch };

			KUNIT_EXPECT_EQ(test, pcp_hold(batch, order), model_hold(&m, order));
		}
	}
	KUNIT_EXPECT_EQ(test, pcp_hold(63, 4), 4 << 4);
	KUNIT_EXPECT_EQ(test, pcp_hold(63, 5), 2 << 5);
	KUNIT_EXPECT_EQ(test, pcp_hold(63, 8), 1 << 8);
}

static void a_drain_frees_what_is_asked(struct kunit *test)
{
	u32 state = 99;
	int i;

	/* Blocks in any order, small ones too: they drain by the same rule. */
	for (i = 0; i < 2000; i++) {
		int want = 1 + random_below(&state, 3000), left = want, total = 0;
		int nr_pages = 1, batch = 1 + random_below(&state, 100);

		while (left > 0) {
			int asked = min(left, batch), freed = 0, least = 0, last = 0;

			while (pcp_drain_more(asked, freed, nr_pages, least)) {
				freed += nr_pages;
				last = nr_pages;
				least = least ? min(least, nr_pages) : nr_pages;
				if (!random_below(&state, 4))
					nr_pages = 1 << random_below(&state, 10);
			}
			KUNIT_ASSERT_LT(test, 0, freed);
			/* What is too much is part of a block no larger than the others. */
			KUNIT_ASSERT_LT(test, freed - asked, least);
			left -= freed;
			total += freed;
			if (left <= 0)
				KUNIT_ASSERT_LT(test, total - want, last);
		}
	}
	KUNIT_EXPECT_FALSE(test, pcp_drain_more(63, 48, 512, 16));
	KUNIT_EXPECT_TRUE(test, pcp_drain_more(63, 48, 16, 16));
	KUNIT_EXPECT_TRUE(test, pcp_drain_more(15, 0, 512, 0));
	KUNIT_EXPECT_FALSE(test, pcp_drain_more(63, 64, 16, 16));
}

static struct kunit_case pcp_cases[] = {
	KUNIT_CASE(the_listed_orders),
	KUNIT_CASE(every_block_finds_back),
	KUNIT_CASE(small_orders_keep_their_lists),
	KUNIT_CASE(the_kernel_has_its_lists),
	KUNIT_CASE(the_switch_leaves_the_pmd_order),
	KUNIT_CASE(random_sequences),
	KUNIT_CASE(an_idle_cpu_holds_nothing),
	KUNIT_CASE(bursts_take_no_lock),
	KUNIT_CASE(freed_on_another_cpu),
	KUNIT_CASE(one_block_for_a_single_request),
	KUNIT_CASE(pressure_takes_it_back),
	KUNIT_CASE(the_longest_unused_list_goes_first),
	KUNIT_CASE(an_old_list_gives_way),
	KUNIT_CASE(who_only_allocates_keeps_nothing_old),
	KUNIT_CASE(a_fallback_takes_half),
	KUNIT_CASE(a_boot_pageset_holds_nothing),
	KUNIT_CASE(the_bound_of_a_zone),
	KUNIT_CASE(within_a_fixed_limit),
	KUNIT_CASE(a_hold_is_a_batch_of_whole_blocks),
	KUNIT_CASE(a_drain_frees_what_is_asked),
	{}
};

static struct kunit_suite pcp_suite = {
	.name = "pcp",
	.test_cases = pcp_cases,
};

kunit_test_suite(pcp_suite);

MODULE_DESCRIPTION("KUnit tests for the per-CPU page lists");
MODULE_LICENSE("GPL");
