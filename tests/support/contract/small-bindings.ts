import type { TestSelection } from './contract-options.ts';

/** Bytes of bindings with which most matrices of the cases are split. */
export const SMALL_BINDING_BYTES = 300 << 10;

/** What a WebGPU device with such bindings refuses. */
export const SMALL_BINDINGS_REFUSE: TestSelection = {
  reason: 'matrices are split, activations and caches are not',
  tests: [
    /rmsNorm: 4096 wide/,
    /attention: .* f32, long/,
    /attention: .* (f32, 3 chosen blocks by head, long|f32 and q8_0, a row alone at 290)$/,
    /attention: .*heads of 256, f16, (a row alone at 700|long|prompts, window of 20, read by a product)$/,
    /attention: .*heads of (512, f16, prompts$|576, \w+, (mixed|prompts), latent)/,
    /compressCells: cells of 128, 160 wide, long/,
    /gatedDelta: .*, 4 on 2 in tiled, 128 x 128/,
    /matmul: (F32|F64) 35 x 4608, 1 rows$/,
    /matmul: (Q4_K 21200 x 256, 33|Q4_0 8500 x 160, 40) rows$/,
    /selectiveScan: (?!a prompt).*, [24] x (64|80) .*states of (128|256)/,
    /(selectiveScan|wkv7): few of many slots, 2 x 64/,
    /sample: .*vocabulary of 32000/,
    /layer: .* 260 rows/,
    /layer: products of low rank, (F32|F16|BF16), 128 rows$/,
    /layer: gated delta net in (F32, heads of 64, prompts beside|Q8_0, heads of 128)/,
  ],
};
