import type { HipCudaTarget, KernelLaunch } from '../../src/devices/hip-cuda/index.ts';

type Defines = Readonly<Record<string, number>>;

/** What a kernel's source can be compiled for otherwise. */
interface Family {
  /** Values that definitions may have; those that a launch does not have stay away. */
  readonly values: Readonly<Record<string, readonly number[]>>;
  /** Whether a launch may have these definitions, which were others. */
  allows(to: Defines, from: Defines): boolean;
  /** The launch's shape with these definitions; what is absent stays. */
  shape?(
    to: Defines,
    of: { readonly launch: KernelLaunch; readonly from: Defines },
  ): Partial<Pick<KernelLaunch, 'grid' | 'block' | 'sharedBytes'>>;
}

/** Threads of a warp on NVIDIA's cards, whose registers these are. */
const WARP = 32;
/** Bytes of a row of f16 in a chunk of k, and sums that pad a row of them. */
const [CHUNK_BYTES, PADDING] = [256, 4];
/** Registers of a multiprocessor, and the fewest of a thread that a kernel with matrix cores makes do with. */
const [REGISTERS, LEAST_REGISTERS] = [65_536, 64];

/** The first code of `product-outputs.h` for gates and ups, and the lines in which half are of each. */
const [GATED, GATES_AND_UPS] = [2, 32];
/** Shared memory that kernels have besides, at most: a codebook, and what sums are added to. */
const OWN_BYTES = 24 << 10;

/** Lines of a tile of packed weights. */
const TILE = 8;
/** The codes of `matvec.hip` whose outputs are whole blocks of quantized activations, or of several products. */
const [GATED_Q8, SEVERAL] = [3, 5];
/** The code of those that are stored as they are, of which a lane may have several. */
const STORED = 0;

const FAMILIES: Readonly<Record<string, Family>> = {
  'matvec.hip': {
    values: { OUTPUTS: [8, 16, 32, 64, 128], LINES: [1, 2], RESIDENT: [1, 2, 3, 4, 5, 6] },
    allows: ({ OUTPUTS = 1, LINES = 1 }, from) =>
      OUTPUTS >= TILE * LINES &&
      (OUTPUTS === from['OUTPUTS'] ||
        (from['OUTPUT'] !== GATED_Q8 &&
          from['OUTPUT'] !== SEVERAL &&
          (OUTPUTS <= WARP || from['OUTPUT'] === STORED))),
    shape: ({ OUTPUTS = 1 }, { launch, from }) => ({ grid: acrossOf(launch, from['OUTPUTS'] ?? 1, OUTPUTS) }),
  },
  'expert-matvec.hip': {
    values: { OUTPUTS: [8, 16, 32], LINES: [1, 2], RESIDENT: [2, 3, 4] },
    allows: ({ OUTPUTS }, from) => OUTPUTS === from['OUTPUTS'] || from['OUTPUT'] !== GATED_Q8,
    shape: ({ OUTPUTS = 1 }, { launch, from }) => ({ grid: acrossOf(launch, from['OUTPUTS'] ?? 1, OUTPUTS) }),
  },
  'product.hip': {
    values: {
      TILE_OUTPUTS: [16, 32, 48, 64],
      WAVES: [4, 6, 8, 9, 12, 16],
      SHARE: [1, 2, 3, 4],
      DEPTH: [1, 2, 3],
      AHEAD: [1, 2],
      RESIDENT: [1, 2, 3, 4],
    },
    allows: ({ WAVES = 1, SHARE = 1, RESIDENT = 1, TILE_OUTPUTS = 1, OUTPUT = 0 }) =>
      WAVES % SHARE === 0 &&
      holds(WAVES, RESIDENT) &&
      (OUTPUT < GATED || (SHARE * TILE_OUTPUTS) % GATES_AND_UPS === 0),
    shape: ({ WAVES = 1, SHARE = 1, AHEAD = 1, TILE_OUTPUTS = 1, TILE_ROWS = 1 }, { launch, from }) => ({
      grid: acrossOf(launch, (from['SHARE'] ?? 1) * (from['TILE_OUTPUTS'] ?? 1), SHARE * TILE_OUTPUTS),
      block: [(launch.block[0] / (from['WAVES'] ?? 1)) * WAVES, 1, 1],
      sharedBytes:
        (WAVES / SHARE) *
        Math.max((AHEAD + 1) * TILE_ROWS * CHUNK_BYTES, SHARE * 4 * TILE_ROWS * (TILE_OUTPUTS + PADDING)),
    }),
  },
  'split-product.hip': {
    values: { WAVES: [2, 4, 8, 16], RESIDENT: [1, 2, 3, 4] },
    allows: ({ WAVES = 1, RESIDENT = 1 }) => holds(WAVES, RESIDENT),
    shape: ({ WAVES = 1 }, { launch, from }) => ({
      block: [(launch.block[0] / (from['WAVES'] ?? 1)) * WAVES, 1, 1],
      sharedBytes: (launch.sharedBytes / (from['WAVES'] ?? 1)) * WAVES,
    }),
  },
  'expert-product.hip': { values: { RESIDENT: [1, 2, 3, 4, 5, 6] }, allows: () => true },
  'warpgroup-product.hip': { values: { UNIT: [1, 2] }, allows: () => true },
  'attention-mma.hip': { values: { RESIDENT: [1, 2, 3, 4] }, allows: () => true },
  'attention-copied.hip': { values: { RESIDENT: [1, 2, 3, 4] }, allows: () => true },
};

/** The same launch with up to so many other choices that a target has room for; none for kernels that have no choices. */
export function candidatesOf(
  launch: KernelLaunch,
  { target, changes }: { target: Pick<HipCudaTarget, 'sharedBytesOptIn'>; changes: number },
): KernelLaunch[] {
  const family = FAMILIES[launch.module.file];
  if (!family) return [];
  const from = numbersOf(launch.module.defines);
  const names = Object.keys(family.values).filter((name) => name in from);
  const all = names.reduce<Defines[]>(
    (made, name) =>
      made.flatMap((to) => (family.values[name] ?? []).map((value) => ({ ...to, [name]: value }))),
    [from],
  );
  return all
    .filter((to) => {
      const changed = names.filter((name) => to[name] !== from[name]).length;
      return changed > 0 && changed <= changes && family.allows(to, from);
    })
    .map((to): KernelLaunch => ({
      ...launch,
      module: { ...launch.module, defines: { ...launch.module.defines, ...to } },
      ...family.shape?.(to, { launch, from }),
    }))
    .filter(
      ({ sharedBytes }) =>
        sharedBytes <= launch.sharedBytes || sharedBytes + OWN_BYTES <= target.sharedBytesOptIn,
    );
}

/** What two launches of a kernel differ by, as `WAVES=8 DEPTH=1`. */
export function differenceOf({ module: { defines: to } }: KernelLaunch, from: KernelLaunch): string {
  const other = from.module.defines;
  const changed = Object.keys(to).filter((name) => to[name] !== other[name]);
  return changed.map((name) => `${name}=${to[name]}`).join(' ');
}

function numbersOf(defines: Readonly<Record<string, string | number>>): Defines {
  return Object.fromEntries(
    Object.entries(defines).filter((entry): entry is [string, number] => typeof entry[1] === 'number'),
  );
}

/** Whether registers have room for so many warps of so many blocks. */
function holds(warps: number, blocks: number): boolean {
  return warps * blocks * WARP * LEAST_REGISTERS <= REGISTERS;
}

/** A grid with as many outputs across, of which a block had `from` and is to have `to`. Blocks beyond the last output have no work. */
function acrossOf(
  { grid: [across, ...others] }: KernelLaunch,
  from: number,
  to: number,
): KernelLaunch['grid'] {
  return [Math.ceil((across * from) / to), ...others];
}
