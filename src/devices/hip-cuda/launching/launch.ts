import type { Address } from '../../../device/index.ts';
import type { LaunchShape } from '../driver/driver-calls.ts';
import type { LibraryCollective } from '../peers/nccl-library.ts';

/** A kernel source with its definitions: the unit of compilation. */
export interface KernelModule {
  /** The source's file name. */
  readonly file: string;
  /** Macros, which adapt one source to several formats and sizes. A value in quotes is an include. */
  readonly defines: Readonly<Record<string, string | number>>;
}

/** An argument of a kernel. */
export interface KernelArgument {
  readonly type: 'address' | 'i32' | 'i64' | 'u32' | 'f32';
  readonly value: number;
}

/** A complete kernel launch, ready to be passed to the driver. */
export interface KernelLaunch extends LaunchShape {
  readonly kind: 'kernel';
  readonly module: KernelModule;
  readonly kernel: string;
  /**
   * For the shared memory of how many blocks a multiprocessor sets some aside; the rest is its first-level cache, of the
   * kernels after this one, too. By default the driver decides.
   */
  readonly residentBlocks?: number | undefined;
  readonly args: readonly KernelArgument[];
}

/** Sets every byte of a range. */
export interface FillLaunch {
  readonly kind: 'fill';
  readonly to: Address;
  readonly byte: number;
  readonly bytes: number;
}

/** Copies a range of device memory to another that does not overlap it. */
export interface CopyLaunch {
  readonly kind: 'copy';
  readonly to: Address;
  readonly from: Address;
  readonly bytes: number;
}

/** A matrix product for the driver's BLAS library: `rows` x `outputs` from numbers of `columns`, all row-major. */
export interface BlasShape {
  readonly type: 'f32' | 'f16' | 'bf16';
  /** Of the results, which are summed in f32; f16 only from f16, beyond whose range they are infinite. */
  readonly results: 'f32' | 'f16';
  readonly rows: number;
  readonly outputs: number;
  readonly columns: number;
  /** Workspace size of the library. */
  readonly workspaceBytes: number;
}

/** y = factor * x wᵀ + addend, with x and w of the shape's type. */
export interface ProductLaunch {
  readonly kind: 'product';
  readonly shape: BlasShape;
  readonly factor: number;
  readonly x: Address;
  readonly w: Address;
  readonly y: Address;
  readonly workspace: Address;
  /** Null for zeros. */
  readonly addend: Address;
}

/** What the library of a link computes over all ranks, which queue it together. */
export interface CollectiveLaunch {
  readonly kind: 'collective';
  readonly of: LibraryCollective;
}

/** A node of a step. */
export type Launch = KernelLaunch | FillLaunch | CopyLaunch | ProductLaunch | CollectiveLaunch;

/** A pointer argument. */
export const pointer = (value: Address): KernelArgument => ({ type: 'address', value });
/** A signed 32-bit argument. */
export const i32 = (value: number): KernelArgument => ({ type: 'i32', value });
/** A non-negative 64-bit argument. */
export const i64 = (value: number): KernelArgument => ({ type: 'i64', value });
/** An unsigned 32-bit argument. */
export const u32 = (value: number): KernelArgument => ({ type: 'u32', value });
/** A 32-bit float argument. */
export const f32 = (value: number): KernelArgument => ({ type: 'f32', value });

/** A unique name for a source with its definitions. */
export function moduleKey({ file, defines }: KernelModule): string {
  const sorted = Object.entries(defines).sort(([a], [b]) => (a < b ? -1 : 1));
  return [file, ...sorted.map(([name, value]) => `${name}=${value}`)].join(' ');
}
