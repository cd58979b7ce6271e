/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MM_PCP_H
#define _MM_PCP_H
/*
 * The per-CPU page lists: which list a block belongs to, and how much may stay
 * on the lists of the large orders, those above PAGE_ALLOC_COSTLY_ORDER.
 *
 * Nothing in here touches a page, a lock or a zone, so that KUnit can check
 * every configuration in one build. mm/page_alloc.c does the rest. See
 * Documentation/mm/page_allocator_pcp.rst.
 *
 * All amounts are in base pages unless a name says blocks.
 */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/types.h>

/* The last order that has a pair of lists to itself on every architecture. */
#define PCP_LAST_FIXED_ORDER	8

/* The pair of lists after those: for a PMD order beyond, which may be a variable. */
#define PCP_SPARE_PAIR		(PCP_LAST_FIXED_ORDER - PAGE_ALLOC_COSTLY_ORDER)

/* A CPU that is idle gives everything back in so many runs of its vmstat work. */
#define PCP_DECAY_RUNS		8

/* All CPUs of a zone together: 1/64 of its managed pages. */
#define PCP_LARGE_SHARE_SHIFT	6

/*
 * ... and room for two blocks on each CPU beyond that, up to 1/16: in a small
 * zone with many CPUs two blocks each could otherwise be more than the zone.
 */
#define PCP_LARGE_ROOM_SHIFT	4

/* Of a limit that the admin has set for everything, large blocks get 1/4. */
#define PCP_LARGE_FRACTION_SHIFT 2

/* Reasons to keep less, as bits. */
#define PCP_PRESSURE_RECLAIM	BIT(0)	/* kswapd is at work on the zone */
#define PCP_PRESSURE_LOW	BIT(1)	/* the zone is below its high watermark */
#define PCP_PRESSURE_BLOCKS	BIT(2)	/* pages enough, but no block of some order */

static_assert(PCP_LAST_FIXED_ORDER > PAGE_ALLOC_COSTLY_ORDER);
static_assert(PCP_SPARE_PAIR + 1 == NR_PCP_LARGE_PAIRS);
static_assert(MIGRATE_PCPTYPES * (PAGE_ALLOC_COSTLY_ORDER + 1) == NR_LOWORDER_PCP_LISTS);

/*
 * Part 1: the lists.
 *
 * Orders up to PAGE_ALLOC_COSTLY_ORDER have MIGRATE_PCPTYPES lists each, large
 * orders a pair: one for movable blocks, CMA's among them, and one for the
 * rest, so that CMA memory is never handed out to those who may not have it.
 */

/**
 * pcp_order_is_large - Is a block of this order in the budget of large blocks?
 * @order: Its order.
 *
 * Context: Any.
 * Return: true above PAGE_ALLOC_COSTLY_ORDER.
 */
static __always_inline bool pcp_order_is_large(unsigned int order)
{
	return order > PAGE_ALLOC_COSTLY_ORDER;
}

/**
 * __pcp_order_listed - Is there a list for blocks of this order?
 * @order: The order.
 * @pmd_order: That of a huge page mapped by a PMD, 0 if there are none (no THP).
 * @max_page_order: The largest that the buddy allocator has.
 *
 * Context: Any.  Pure.
 * Return: true if it may be on a list.
 */
static __always_inline bool __pcp_order_listed(unsigned int order, unsigned int pmd_order,
					       unsigned int max_page_order)
{
	if (!pcp_order_is_large(order))
		return true;
	if (!pmd_order || order > max_page_order)
		return false;
	return order <= PCP_LAST_FIXED_ORDER || order == pmd_order;
}

/**
 * __pcp_order_listed_nolock - The same for alloc_pages_nolock() and its frees
 * @order: The order.
 * @pmd_order: That of a huge page mapped by a PMD, 0 if there are none.
 *
 * They may run anywhere, NMI included, and are not to zero or move more than
 * they did when only these orders had lists.
 *
 * Context: Any.  Pure.
 * Return: true if it may be on a list.
 */
static __always_inline bool __pcp_order_listed_nolock(unsigned int order,
						      unsigned int pmd_order)
{
	return !pcp_order_is_large(order) || (pmd_order && order == pmd_order);
}

/* The pair of lists of a large order, from 0. */
static __always_inline unsigned int pcp_large_pair(unsigned int order)
{
	return min(order, PCP_LAST_FIXED_ORDER + 1U) - (PAGE_ALLOC_COSTLY_ORDER + 1);
}

/**
 * pcp_list_index - Which list does a block go to?
 * @migratetype: Of its pageblock, below MIGRATE_PCPTYPES.
 * @order: Its order, one for which pcp_order_listed() is true.
 *
 * Of all orders beyond PCP_LAST_FIXED_ORDER at most one is listed, so that the
 * PMD order need not be known here. It costs nothing where it is a variable.
 *
 * Context: Any.  Pure.
 * Return: An index into per_cpu_pages.lists.
 */
static __always_inline unsigned int pcp_list_index(int migratetype, unsigned int order)
{
	if (!pcp_order_is_large(order))
		return MIGRATE_PCPTYPES * order + migratetype;

	return NR_LOWORDER_PCP_LISTS + 2 * pcp_large_pair(order) +
	       (migratetype == MIGRATE_MOVABLE);
}

/**
 * __pcp_list_order - Of which order are the blocks on a list?
 * @index: That of the list.
 * @pmd_order: That of a huge page mapped by a PMD.
 *
 * Context: Any.  Pure.
 * Return: The order. Of the spare pair it is @pmd_order, also where that one
 *	   has a pair among the others and these lists stay empty.
 */
static __always_inline unsigned int __pcp_list_order(unsigned int index, unsigned int pmd_order)
{
	unsigned int pair;

	if (index < NR_LOWORDER_PCP_LISTS)
		return index / MIGRATE_PCPTYPES;

	pair = (index - NR_LOWORDER_PCP_LISTS) / 2;
	if (pair == PCP_SPARE_PAIR)
		return pmd_order;
	return pair + PAGE_ALLOC_COSTLY_ORDER + 1;
}

/*
 * What page_alloc.c calls. The compiler folds these down to mainline's compare
 * of the order wherever the PMD order is a constant.
 */
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
#define PCP_PMD_ORDER		HPAGE_PMD_ORDER
#else
#define PCP_PMD_ORDER		0
#endif

#define pcp_order_listed(order)		__pcp_order_listed(order, PCP_PMD_ORDER, MAX_PAGE_ORDER)
#define pcp_order_listed_nolock(order)	__pcp_order_listed_nolock(order, PCP_PMD_ORDER)
#define pcp_list_order(index)		__pcp_list_order(index, PCP_PMD_ORDER)

/*
 * Part 2: the budgets.
 *
 * per_cpu_pages.count, high and batch are those of the small orders alone, and
 * work as ever. struct pcp_large is the other budget. All of it is protected by
 * per_cpu_pages.lock, except that count and limit are also read without it, for
 * statistics and for a first look.
 *
 * What stays: up to ->limit, which demand earns (every refill raises it by what
 * the refill has moved) and pressure, fragmentation and idleness take away; and
 * beyond that what one hold of zone->lock would move anyway, so that those who
 * only free, for others to allocate elsewhere, do not take the lock for each.
 */

/**
 * pcp_hold - How much does one hold of zone->lock move?
 * @batch: per_cpu_pages.batch.
 * @order: That of the blocks.
 *
 * Context: Any.  Pure.
 * Return: A batch, or one block if that is more, in whole blocks.
 */
static __always_inline int pcp_hold(int batch, unsigned int order)
{
	return round_up(max(batch, 1 << order), 1 << order);
}

/**
 * pcp_drain_more - Does this hold of zone->lock free one more block?
 * @asked: What it was asked to free.
 * @freed: What it has freed.
 * @nr_pages: The block at hand.
 * @least: The smallest block that it has freed, 0 if there is none.
 *
 * A hold rounds up to whole blocks of an order, but does not end with a block
 * that is larger than one before and than what is left to free: what was freed
 * is a multiple of a block that rounds up. A caller that subtracts from what it
 * wants what has really been freed, and asks again, thus frees what it wants
 * plus at most one block less a page.
 *
 * Context: Any.  Pure.
 * Return: true if the block at hand is to be freed as well.
 */
static __always_inline bool pcp_drain_more(int asked, int freed, int nr_pages, int least)
{
	if (freed >= asked)
		return false;
	return !least || nr_pages <= least || nr_pages <= asked - freed;
}

/**
 * pcp_large_share - The bounds of a CPU's budget for large blocks of a zone
 * @managed: The zone's managed pages.
 * @nr_local: The CPUs that the zone is local to, at least 1; those that are
 *	      online if it is local to none.
 * @nr_online: All that are online, at least 1.
 * @local: The CPU is one of @nr_local.
 * @fixed: What percpu_pagelist_high_fraction leaves to each CPU for small and
 *	   large pages together, 0 if it is not set.
 * @share: Where to put the CPU's part.
 * @room: Where to put the part that it may go up to for two blocks.
 *
 * Remote CPUs, that a zone's memory does not belong to, have room only. With
 * @fixed the caller takes @share out of the small budget.
 *
 * Context: Any.  Pure.
 */
static inline void pcp_large_share(unsigned long managed, unsigned int nr_local,
				   unsigned int nr_online, bool local, int fixed,
				   int *share, int *room)
{
	/* A quarter of an int: sums of two of these do not overflow. */
	const unsigned long most = INT_MAX / 4;

	*share = local ? min((managed >> PCP_LARGE_SHARE_SHIFT) / nr_local, most) : 0;
	*room = min((managed >> PCP_LARGE_ROOM_SHIFT) / nr_online, most);
	if (fixed) {
		*share = min(*share, fixed >> PCP_LARGE_FRACTION_SHIFT);
		*room = 0;
	}
}

/**
 * pcp_large_bound - The most that a CPU may keep
 * @pl: The budget.
 *
 * Context: Under per_cpu_pages.lock.
 * Return: The CPU's part of the zone, or two blocks of the largest order in use
 *	   if that is more and the zone is not too small for it.
 */
static __always_inline int pcp_large_bound(const struct pcp_large *pl)
{
	return max(pl->share, min(pl->two, pl->room));
}

/**
 * pcp_large_stays - May a block of this order be kept at all?
 * @pl: The budget.
 * @order: The block's order.
 *
 * False for boot pagesets and while the lists are disabled or switched off: a
 * block that may not stay is never put on a list, not even to be taken off at
 * once.
 *
 * Context: Under per_cpu_pages.lock, which orders it against the drain that
 *	    follows a change of ->orders.
 * Return: true if it may be put on a list.
 */
static __always_inline bool pcp_large_stays(const struct pcp_large *pl, unsigned int order)
{
	return (pl->orders & BIT(order)) && (1 << order) <= max(pl->share, pl->room);
}

/**
 * pcp_large_high - What may be kept now
 * @pl: The budget.
 * @batch: per_cpu_pages.batch.
 * @order: That of the block at hand.
 * @pressure: PCP_PRESSURE_ bits.
 *
 * Below its high watermark is where a zone is most of the time once files have
 * filled memory. What one hold moves is kept then.
 *
 * Context: Under per_cpu_pages.lock.
 * Return: How many pages, 0 to send every block back.
 */
static __always_inline int pcp_large_high(const struct pcp_large *pl, int batch,
					  unsigned int order, unsigned int pressure)
{
	int slack = pressure & ~PCP_PRESSURE_LOW ? 0 : pcp_hold(batch, order);

	return min(pl->limit + slack, pcp_large_bound(pl));
}

static __always_inline void __pcp_large_add(struct pcp_large *pl, unsigned int index,
					    unsigned int order, int blocks)
{
	pl->count += blocks * (1 << order);
	pl->blocks[index - NR_LOWORDER_PCP_LISTS] += blocks;
}

/**
 * __pcp_large_victim - Which list is drained first?
 * @pl: The budget.
 * @pmd_order: That of a huge page mapped by a PMD.
 *
 * The one with most pages of those that no block has been freed to since this
 * was last true for none: a list that was filled in another phase of the workload
 * gives way to those in use, which share fairly, and a stream of frees drains its
 * own.
 *
 * Context: Under per_cpu_pages.lock.
 * Return: An index into per_cpu_pages.lists, that of the first large one if all
 *	   are empty.
 */
static inline unsigned int __pcp_large_victim(struct pcp_large *pl, unsigned int pmd_order)
{
	unsigned int i, victim = 0;
	int pages, most = 0;

	do {
		for (i = 0; i < 2 * NR_PCP_LARGE_PAIRS; i++) {
			if (!pl->blocks[i] || (pl->used & BIT(i)))
				continue;
			pages = pl->blocks[i] <<
				__pcp_list_order(NR_LOWORDER_PCP_LISTS + i, pmd_order);
			if (pages > most) {
				most = pages;
				victim = i;
			}
		}
		if (most || !pl->used)
			break;
		pl->used = 0;
	} while (true);

	return NR_LOWORDER_PCP_LISTS + victim;
}

#define pcp_large_victim(pl)	__pcp_large_victim(pl, PCP_PMD_ORDER)

/**
 * pcp_large_freed - Charge a block that was freed to a list
 * @pl: The budget.
 * @batch: per_cpu_pages.batch.
 * @index: The list's index.
 * @order: The block's order, one that pcp_large_stays().
 * @pressure: PCP_PRESSURE_ bits.
 *
 * Context: Under per_cpu_pages.lock.
 * Return: How much to drain now: 0, or what is too much, but not less than one
 *	   hold of zone->lock is good for.
 */
static __always_inline int pcp_large_freed(struct pcp_large *pl, int batch, unsigned int index,
					   unsigned int order, unsigned int pressure)
{
	int hold = pcp_hold(batch, order);
	int over;

	__pcp_large_add(pl, index, order, 1);
	pl->two = max(pl->two, 2 << order);
	pl->idle = 0;
	pl->streak >>= 1;
	pl->used |= BIT(index - NR_LOWORDER_PCP_LISTS);

	if (unlikely(pressure)) {
		/* What is missing are blocks, and these are blocks: first here. */
		if (pressure & PCP_PRESSURE_BLOCKS)
			pl->limit >>= 1;
		pl->limit = max(pl->limit - hold, 0);
	}

	over = pl->count - pcp_large_high(pl, batch, order, pressure);
	if (likely(over <= 0))
		return 0;
	return min(max(over, hold), pl->count);
}

/**
 * pcp_large_removed - Charge a block that has left a list
 * @pl: The budget.
 * @index: The list's index.
 * @order: The block's order.
 *
 * Context: Under per_cpu_pages.lock.
 */
static __always_inline void pcp_large_removed(struct pcp_large *pl, unsigned int index,
					      unsigned int order)
{
	__pcp_large_add(pl, index, order, -1);
}

/**
 * pcp_large_refill - How many blocks to fetch for a list that is empty
 * @pl: The budget.
 * @batch: per_cpu_pages.batch.
 * @order: Their order.
 * @pressure: PCP_PRESSURE_ bits.
 *
 * One, and twice as many with each refill that is not followed by frees, up to
 * what one hold of zone->lock moves.
 *
 * Context: Under per_cpu_pages.lock.
 * Return: Blocks, at least 1: that one is for the caller. Those beyond it are
 *	   not worth a fallback to another migratetype.
 */
static inline int pcp_large_refill(struct pcp_large *pl, int batch, unsigned int order,
				   unsigned int pressure)
{
	int most = pcp_hold(batch, order) >> order;
	int room, blocks;

	if (!pcp_large_stays(pl, order))
		return 1;

	pl->two = max(pl->two, 2 << order);
	if (pressure) {
		pl->streak = 0;
		return 1;
	}

	room = (pcp_large_bound(pl) - pl->count) >> order;
	blocks = min(1 << pl->streak, most);
	if (1 << pl->streak < most)
		pl->streak++;

	/* The first does not stay. */
	return clamp(blocks, 1, max(room, 0) + 1);
}

/**
 * pcp_large_refilled - Charge a refill
 * @pl: The budget.
 * @index: The list's index.
 * @order: The blocks' order.
 * @blocks: How many have been put on the list; 0 is fine.
 * @fell_back: A block came from the lists of another migratetype.
 * @pressure: PCP_PRESSURE_ bits.
 *
 * Context: Under per_cpu_pages.lock, in the same section in which the blocks
 *	    were put on the list: a drain goes by the count.
 */
static inline void pcp_large_refilled(struct pcp_large *pl, unsigned int index,
				      unsigned int order, int blocks,
				      bool fell_back, unsigned int pressure)
{
	__pcp_large_add(pl, index, order, blocks);

	if (fell_back) {
		pl->limit >>= 1;
		pl->streak = 0;
	} else if (!pressure && pcp_large_stays(pl, order)) {
		pl->limit = min(pl->limit + (blocks << order), pcp_large_bound(pl));
	}
}

/**
 * pcp_large_todo - Is there something that pcp_large_decay() can take away?
 * @pl: The budget.
 *
 * Context: Any; without per_cpu_pages.lock the answer may be out of date.
 * Return: true until both the count and the limit are 0.
 */
static __always_inline bool pcp_large_todo(const struct pcp_large *pl)
{
	return READ_ONCE(pl->count) || READ_ONCE(pl->limit);
}

/**
 * pcp_large_decay - What a run of the vmstat work takes away
 * @pl: The budget.
 *
 * 1/8 of the limit while blocks are freed; in equal steps down to nothing once
 * they are not, after PCP_DECAY_RUNS runs. What is fetched for allocations alone
 * is not to keep what was left by an earlier phase.
 *
 * Context: Under per_cpu_pages.lock.
 * Return: How much to drain.
 */
static inline int pcp_large_decay(struct pcp_large *pl)
{
	int runs = PCP_DECAY_RUNS - pl->idle;

	pl->limit -= DIV_ROUND_UP(pl->limit, runs);
	if (runs > 1)
		pl->idle++;

	/* The bound follows the orders that are still here. */
	while (pl->two) {
		const int *pair = pl->blocks + 2 * pcp_large_pair(ilog2(pl->two) - 1);

		if (pair[0] || pair[1])
			break;
		pl->two >>= 1;
		if (!pcp_order_is_large(ilog2(pl->two) - 1))
			pl->two = 0;
	}

	return max(pl->count - pl->limit, 0);
}

/**
 * pcp_large_set - Set the bounds of a CPU's budget
 * @pl: The budget.
 * @share: From pcp_large_share(), 0 to keep nothing.
 * @room: From pcp_large_share(), 0 to keep nothing.
 * @orders: The orders that may be kept, as bits.
 *
 * What is there already stays until it is drained: by the next frees, by the
 * vmstat work, or by a caller who needs it at once and drains.
 *
 * Context: Under per_cpu_pages.lock, or when nobody else can see it.
 */
static inline void pcp_large_set(struct pcp_large *pl, int share, int room, u32 orders)
{
	pl->share = share;
	pl->room = room;
	pl->orders = orders;
	pl->limit = min(pl->limit, pcp_large_bound(pl));
}

/**
 * __pcp_large_orders - The orders that struct pcp_large.orders may have
 * @on: The new orders are switched on.
 * @pmd_order: That of a huge page mapped by a PMD, 0 if there are none.
 * @max_page_order: The largest that the buddy allocator has.
 *
 * Context: Any.  Pure.
 * Return: A bit for each.
 */
static inline u32 __pcp_large_orders(bool on, unsigned int pmd_order, unsigned int max_page_order)
{
	u32 orders = 0;
	unsigned int order;

	for (order = PAGE_ALLOC_COSTLY_ORDER + 1; order <= max_page_order; order++)
		if (__pcp_order_listed(order, pmd_order, max_page_order) &&
		    (on || order == pmd_order))
			orders |= BIT(order);
	return orders;
}

#define pcp_large_orders(on)	__pcp_large_orders(on, PCP_PMD_ORDER, MAX_PAGE_ORDER)

/**
 * pcp_nr_pages - All pages of a pageset
 * @pcp: The pageset.
 *
 * Context: Any; without per_cpu_pages.lock the answer may be out of date.
 * Return: Pages of both budgets.
 */
static inline int pcp_nr_pages(const struct per_cpu_pages *pcp)
{
	return READ_ONCE(pcp->count) + READ_ONCE(pcp->large.count);
}

#endif /* _MM_PCP_H */
