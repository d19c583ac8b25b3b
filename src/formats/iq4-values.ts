/** The 16 levels that IQ4_NL and IQ4_XS choose from: closer together near zero, where weights are. */
export const IQ4_VALUES = Int8Array.of(
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
