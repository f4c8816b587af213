/* SPDX-License-Identifier: MIT */
/*
 * CRC-32C (Castagnoli), the checksum of TFRecord's records. Pure; any thread.
 */
#ifndef STOKER_BASE_CRC32C_H
#define STOKER_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Checksum of `data` behind bytes whose checksum is `before`; 0: behind nothing. */
uint32_t crc32c(uint32_t before, const uint8_t *data, size_t size);
/* Compute it by tables alone, for tests and for machines without the instruction. */
uint32_t crc32c_plain(uint32_t before, const uint8_t *data, size_t size);

#endif
