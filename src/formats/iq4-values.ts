/** The 16 levels of IQ4_NL and IQ4_XS: denser near zero, where most weights are. */
export const IQ4_VALUES: Int8Array = Int8Array.of(
  -127,
  -104,
  -83,
  -65,
  -49,
  -35,
  -22,
  -10,
  1,
  13,
  25,
  38,
  53,
  69,
  89,
  113,
);
