// SPDX-License-Identifier: GPL-2.0
/* sparse has to warn here: an endian mix that only __CHECK_ENDIAN__ shows. */
typedef unsigned int __attribute__((bitwise)) le32;

static le32 known_bad(unsigned int x)
{
	return x;
}
