/**
 * A native address. User space ends at 2^47 on x86-64 and 2^48 on AArch64, so that addresses are exact as numbers. 0 is null.
 */
export type Address = number;

/** JavaScript's side of the native types that signatures are made of. */
export interface NativeValues {
  void: undefined;
  i32: number;
  u32: number;
  /** `unsigned long long`; only values below 2^53. */
  u64: number;
  /** `size_t`; only values below 2^53. */
  size: number;
  f32: number;
  /** Any pointer or handle. */
  address: Address;
  /** `const char *`, UTF-8, read during the call. */
  text: string;
}

/** A native type by its name. */
export type NativeType = keyof NativeValues;

/** The values that parameters of these types take. */
export type NativeArguments<P extends readonly NativeType[]> = { [I in keyof P]: NativeValues[P[I]] };

/** A bound function. It runs on the calling thread and returns when the native one does. */
export type NativeFunction<R extends NativeType, P extends readonly NativeType[]> = (
  ...values: NativeArguments<P>
) => NativeValues[R];

/** A bound function that runs on another thread of the process, and resolves when the native one returns. */
export type AsyncNativeFunction<R extends NativeType, P extends readonly NativeType[]> = (
  ...values: NativeArguments<P>
) => Promise<NativeValues[R]>;

/** A shared library that was opened. It stays loaded until the process ends. */
export interface NativeLibrary {
  /** The candidate that was found. */
  readonly name: string;
  has(symbol: string): boolean;
  /** Throws `SYMBOL_NOT_FOUND`. */
  bind<R extends NativeType, const P extends readonly NativeType[]>(
    symbol: string,
    result: R,
    parameters: P,
  ): NativeFunction<R, P>;
  /** As `bind`, for calls that take long and keep nothing with the calling thread. */
  bindAsync<R extends NativeType, const P extends readonly NativeType[]>(
    symbol: string,
    result: R,
    parameters: P,
  ): AsyncNativeFunction<R, P>;
}

/** Native memory that the process owns, for structures and arguments. Nothing may touch `bytes` after disposal. */
export interface NativeMemory extends Disposable {
  readonly address: Address;
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

/** Calls into native libraries, as a platform injects them. */
export interface Ffi {
  /** Opens the first candidate that the system's loader finds. Throws `LIBRARY_NOT_FOUND` with each one's reason. */
  open(candidates: readonly string[]): NativeLibrary;
  /** Lets another thread read the library that `open` would open, so that it is there then. Resolves whether there is one or not. */
  preload(candidates: readonly string[]): Promise<void>;
  /** Zeroed memory outside the garbage collector's. */
  allocate(byteLength: number): NativeMemory;
  /** The memory at an address, less than 4 GiB of it; valid as long as the memory is. */
  view(address: Address, byteLength: number): Uint8Array;
  /**
   * Where the bytes lie. Small arrays move when garbage is collected: the answer lasts for bytes over shared, WebAssembly
   * or native memory, and for buffers of more than 64 bytes as long as they are reachable.
   */
  addressOf(bytes: Uint8Array): Address;
  /** The text at an address, up to its zero byte. */
  text(address: Address): string;
}
