/* SPDX-License-Identifier: Apache-2.0 */
#include "util/digest.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

struct pkb_digest {
    EVP_MD_CTX *ctx;
    EVP_MD *md;
};

void pkb_digest_destroy(struct pkb_digest *d)
{
    int saved = errno;
    if (d) {
        EVP_MD_CTX_free(d->ctx);
        EVP_MD_free(d->md);
        free(d);
    }
    errno = saved;
}

struct pkb_digest *pkb_digest_create(struct pkb_error *err)
{
    struct pkb_digest *d = calloc(1, sizeof(*d));
    if (!d) {
        pkb_error_errno(err, "digest");
        return NULL;
    }
    /* Fetched once: an implicit fetch per digest costs more than hashing a cell. */
    d->md = EVP_MD_fetch(NULL, "SHA256", NULL);
    d->ctx = EVP_MD_CTX_new();
    if (!d->md || !d->ctx) {
        pkb_error_set(err, "libcrypto offers no SHA-256");
        pkb_digest_destroy(d);
        return NULL;
    }
    return d;
}

int pkb_digest_begin(struct pkb_digest *d, struct pkb_error *err)
{
    return EVP_DigestInit_ex2(d->ctx, d->md, NULL) == 1 ? 0 : pkb_error_set(err, "libcrypto: digest init failed");
}

int pkb_digest_update(struct pkb_digest *d, const void *data, size_t size, struct pkb_error *err)
{
    return EVP_DigestUpdate(d->ctx, data, size) == 1 ? 0 : pkb_error_set(err, "libcrypto: digest update failed");
}

int pkb_digest_final(struct pkb_digest *d, uint8_t out[PKB_DIGEST_BYTES], struct pkb_error *err)
{
    return EVP_DigestFinal_ex(d->ctx, out, NULL) == 1 ? 0 : pkb_error_set(err, "libcrypto: digest final failed");
}

void pkb_digest_hex(const uint8_t digest[PKB_DIGEST_BYTES], char hex[PKB_DIGEST_HEX])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < PKB_DIGEST_BYTES; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[2 * PKB_DIGEST_BYTES] = '\0';
}

static int finish_hex(struct pkb_digest *d, char hex[PKB_DIGEST_HEX], struct pkb_error *err)
{
    uint8_t raw[PKB_DIGEST_BYTES];
    if (pkb_digest_final(d, raw, err) < 0)
        return -1;
    pkb_digest_hex(raw, hex);
    return 0;
}

int pkb_digest_buffer(const void *data, size_t size, char hex[PKB_DIGEST_HEX], struct pkb_error *err)
{
    struct pkb_digest *d = pkb_digest_create(err);
    int rc = -1;
    if (d && pkb_digest_begin(d, err) == 0 && pkb_digest_update(d, data, size, err) == 0)
        rc = finish_hex(d, hex, err);
    pkb_digest_destroy(d);
    return rc;
}

static int digest_stream(struct pkb_digest *d, FILE *f, struct pkb_error *err)
{
    char buf[16384];
    size_t n;
    while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
        if (pkb_digest_update(d, buf, n, err) < 0)
            return -1;
    return ferror(f) ? pkb_error_errno(err, "read") : 0;
}

int pkb_digest_file(const char *path, char hex[PKB_DIGEST_HEX], struct pkb_error *err)
{
    FILE *f = fopen(path, "rbe");
    if (!f)
        return pkb_error_errno(err, "%s", path);
    struct pkb_digest *d = pkb_digest_create(err);
    int rc = -1;
    if (d && pkb_digest_begin(d, err) == 0 && digest_stream(d, f, err) == 0)
        rc = finish_hex(d, hex, err);
    if (rc < 0)
        pkb_error_prefix(err, "%s", path);
    pkb_digest_destroy(d);
    (void)fclose(f);
    return rc;
}
