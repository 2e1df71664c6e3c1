/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 through libcrypto: names of content-addressed files and identities of cells. */
#ifndef PKB_UTIL_DIGEST_H
#define PKB_UTIL_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

#define PKB_DIGEST_BYTES 32
#define PKB_DIGEST_HEX 65 /* 64 digits and the final 0 */

/* An incremental digest. Opaque; one is cheap to reuse: begin, update any number of times, final, begin again. */
struct pkb_digest;

struct pkb_digest *pkb_digest_create(struct pkb_error *err);
void pkb_digest_destroy(struct pkb_digest *d);
int pkb_digest_begin(struct pkb_digest *d, struct pkb_error *err);
int pkb_digest_update(struct pkb_digest *d, const void *data, size_t size, struct pkb_error *err);
int pkb_digest_final(struct pkb_digest *d, uint8_t out[PKB_DIGEST_BYTES], struct pkb_error *err);

/* Lower-case hexadecimal of a digest. */
void pkb_digest_hex(const uint8_t digest[PKB_DIGEST_BYTES], char hex[PKB_DIGEST_HEX]);

/* Digest of one buffer, as hexadecimal. */
int pkb_digest_buffer(const void *data, size_t size, char hex[PKB_DIGEST_HEX], struct pkb_error *err);

/* Digest of a file's contents, as hexadecimal; the error names the path. */
int pkb_digest_file(const char *path, char hex[PKB_DIGEST_HEX], struct pkb_error *err);

#endif
