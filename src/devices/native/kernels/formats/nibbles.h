// 16 bytes hold 32 elements: byte i has element i in its low nibble and element i + 16 in its high one.
#pragma once
#include "prelude.h"

DEVICE u32 nibble_at(const u8* bytes, i32 part, i32 i) { return (bytes[8 * (part & 1) + i] >> (4 * (part >> 1))) & 15; }
