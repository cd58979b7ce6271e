// SPDX-License-Identifier: GPL-2.0-only
///
/// Use folio_zero() to zero a whole folio rather than folio_zero_range(),
/// folio_zero_segment(), folio_zero_segments() or a loop over its pages. It
/// flushes the data cache, too, so no flush_dcache_folio() has to follow.
///
//# folio_zero() may sleep: no spinlock may be held there, and no kmap_atomic()
//# mapping. PG_uptodate has to be set after it. See
//# Documentation/mm/folio_zeroing.rst. Patch mode leaves locals behind that
//# nobody uses any more, and does not sort the include.
//
// Confidence: Moderate
// Comments: Zeroing from 0 to PAGE_SIZE is not reported, whatever the order.
// Options: --no-includes --include-headers

virtual patch
virtual context
virtual org
virtual report

//----------------------------------------------------------
//  The size, or the number of pages, comes from a local
//----------------------------------------------------------

// From this assignment on, neither it nor the folio changes on the way ...
@held exists@
expression E;
identifier f, n, i;
type T, T1;
assignment operator op;
position p, q;
@@

(
(
  T1 n@q = folio_size(f);
|
  n@q = folio_size(f);
)
  ... when != n op E
      when != \(n++\|n--\|++n\|--n\|&n\|&f\)
      when != f = E
(
  folio_zero_range@p(f, 0, n);
|
  folio_zero_segment@p(f, 0, n);
|
  folio_zero_segments@p(f, 0, n, 0, 0);
)
|
(
  T1 n@q = \(folio_nr_pages(f)\|1 << folio_order(f)\);
|
  n@q = \(folio_nr_pages(f)\|1 << folio_order(f)\);
)
  ... when != n op E
      when != \(n++\|n--\|++n\|--n\|&n\|&f\)
      when != f = E
(
  for (i = 0; i < n; \(i++\|++i\)) {
    clear_highpage@p(\(folio_page(f, i)\|folio_page(f, 0) + i\));
  }
|
  for (T i = 0; i < n; \(i++\|++i\)) {
    clear_highpage@p(\(folio_page(f, i)\|folio_page(f, 0) + i\));
  }
)
)

// ... and no other value gets there.
@other exists@
expression E, E1;
identifier held.f, held.n, i;
type T, T1, T2;
assignment operator op, op1;
position held.p, p1, q != held.q;
@@

(
  T1 n@q = E;
|
  n@q op E
|
  \(n@q++\|n@q--\|++n@q\|--n@q\|&n@q\|&f@q\)
|
  f@q = E
)
  ... when != n op1 E1
      when != T2 n = E1;
(
  folio_zero_range@p@p1(f, 0, n);
|
  folio_zero_segment@p@p1(f, 0, n);
|
  folio_zero_segments@p@p1(f, 0, n, 0, 0);
|
  for (i = 0; i < n; \(i++\|++i\)) {
    clear_highpage@p@p1(\(folio_page(f, i)\|folio_page(f, 0) + i\));
  }
|
  for (T i = 0; i < n; \(i++\|++i\)) {
    clear_highpage@p@p1(\(folio_page(f, i)\|folio_page(f, 0) + i\));
  }
)

@r_held depends on !patch@
identifier held.f, held.n, i;
type T;
position held.p, p1 != other.p1;
@@

(
* folio_zero_range@p@p1(f, 0, n);
|
* folio_zero_segment@p@p1(f, 0, n);
|
* folio_zero_segments@p@p1(f, 0, n, 0, 0);
|
  for (i = 0; i < n; \(i++\|++i\)) {
*   clear_highpage@p@p1(\(folio_page(f, i)\|folio_page(f, 0) + i\));
  }
|
  for (T i = 0; i < n; \(i++\|++i\)) {
*   clear_highpage@p@p1(\(folio_page(f, i)\|folio_page(f, 0) + i\));
  }
)

@p_held depends on patch@
identifier held.f, held.n, i;
type T;
position held.p, p1 != other.p1;
@@

(
- folio_zero_range@p@p1(f, 0, n);
+ folio_zero(f);
|
- folio_zero_segment@p@p1(f, 0, n);
+ folio_zero(f);
|
- folio_zero_segments@p@p1(f, 0, n, 0, 0);
+ folio_zero(f);
|
- for (i = 0; i < n; \(i++\|++i\)) {
-   clear_highpage@p@p1(\(folio_page(f, i)\|folio_page(f, 0) + i\));
- }
+ folio_zero(f);
|
- for (T i = 0; i < n; \(i++\|++i\)) {
-   clear_highpage@p@p1(\(folio_page(f, i)\|folio_page(f, 0) + i\));
- }
+ folio_zero(f);
)

//----------------------------------------------------------
//  The size, or the number of pages, is written out
//----------------------------------------------------------

@r_whole depends on !patch@
expression f;
identifier i;
type T;
position p;
@@

(
* folio_zero_range@p(f, 0, folio_size(f));
|
* folio_zero_segment@p(f, 0, folio_size(f));
|
* folio_zero_segments@p(f, 0, folio_size(f), 0, 0);
|
  for (i = 0; i < \(folio_nr_pages(f)\|1 << folio_order(f)\); \(i++\|++i\)) {
*   clear_highpage@p(\(folio_page(f, i)\|folio_page(f, 0) + i\));
  }
|
  for (T i = 0; i < \(folio_nr_pages(f)\|1 << folio_order(f)\); \(i++\|++i\)) {
*   clear_highpage@p(\(folio_page(f, i)\|folio_page(f, 0) + i\));
  }
)

@p_whole depends on patch@
expression f;
identifier i;
type T;
@@

(
- folio_zero_range(f, 0, folio_size(f));
+ folio_zero(f);
|
- folio_zero_segment(f, 0, folio_size(f));
+ folio_zero(f);
|
- folio_zero_segments(f, 0, folio_size(f), 0, 0);
+ folio_zero(f);
|
- for (i = 0; i < \(folio_nr_pages(f)\|1 << folio_order(f)\); \(i++\|++i\)) {
-   clear_highpage(\(folio_page(f, i)\|folio_page(f, 0) + i\));
- }
+ folio_zero(f);
|
- for (T i = 0; i < \(folio_nr_pages(f)\|1 << folio_order(f)\); \(i++\|++i\)) {
-   clear_highpage(\(folio_page(f, i)\|folio_page(f, 0) + i\));
- }
+ folio_zero(f);
)

//----------------------------------------------------------
//  A flush that folio_zero() has done
//----------------------------------------------------------

@r_flush depends on !patch@
expression f;
position p;
@@

  folio_zero(f);
* flush_dcache_folio@p(f);

@p_flush depends on patch@
expression f;
@@

  folio_zero(f);
- flush_dcache_folio(f);

//----------------------------------------------------------
//  The include
//----------------------------------------------------------

@included depends on patch@
@@

#include <linux/folio_zero.h>

@depends on (p_held || p_whole) && !included@
@@

  #include <linux/...>
+ #include <linux/folio_zero.h>

//----------------------------------------------------------
//  Report and org mode
//----------------------------------------------------------

@script:python depends on report@
p << r_held.p1;
@@

coccilib.report.print_report(p[0], "WARNING opportunity for folio_zero()")

@script:python depends on org@
p << r_held.p1;
@@

coccilib.org.print_todo(p[0], "WARNING opportunity for folio_zero()")

@script:python depends on report@
p << r_whole.p;
@@

coccilib.report.print_report(p[0], "WARNING opportunity for folio_zero()")

@script:python depends on org@
p << r_whole.p;
@@

coccilib.org.print_todo(p[0], "WARNING opportunity for folio_zero()")

@script:python depends on report@
p << r_flush.p;
@@

coccilib.report.print_report(p[0], "WARNING flush_dcache_folio() after folio_zero()")

@script:python depends on org@
p << r_flush.p;
@@

coccilib.org.print_todo(p[0], "WARNING flush_dcache_folio() after folio_zero()")
