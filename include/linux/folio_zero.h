/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_FOLIO_ZERO_H
#define _LINUX_FOLIO_ZERO_H

struct folio;

void folio_zero(struct folio *folio);
/* For a benchmark that is to build without it, too */
#define folio_zero folio_zero

#endif /* _LINUX_FOLIO_ZERO_H */
