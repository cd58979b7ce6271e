// SPDX-License-Identifier: GPL-2.0
/**
 * known_bad - kernel-doc has to warn here: @count is not described.
 * @folio: a folio
 */
void known_bad(struct folio *folio, int count)
{
}
