/** What every library of kernels needs. */
#pragma once

using u8 = unsigned char;
using i32 = int;
using u32 = unsigned int;
using u64 = unsigned long long;

/** A function's own name, found by the host. */
#if defined(_WIN32)
#define EXPORT extern "C" __declspec(dllexport)
#else
#define EXPORT extern "C" __attribute__((visibility("default")))
#endif
