/** Twice the values of E2M1, by code: sign, two exponent bits, one mantissa bit. */
export const FP4_DOUBLED: Int8Array = Int8Array.of(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);

/** The standard deviation of `FP4_DOUBLED` over random codes. */
export const FP4_DOUBLED_DEVIATION = 5.852;
