/**
 * A native address. User space ends at 2^47 on x86-64 and 2^48 on AArch64, so that addresses are exact as numbers. 0 is null.
 */
export type Address = number;

/** The JavaScript types of the native types in signatures. */
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
  /** A structure of 128 bytes by value. */
  bytes128: { readonly bytes: Uint8Array };
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
  /** The candidate that was loaded. */
  readonly name: string;
  has(symbol: string): boolean;
  /** Throws `SYMBOL_NOT_FOUND`. */
  bind<R extends NativeType, const P extends readonly NativeType[]>(
    symbol: string,
    result: R,
    parameters: P,
  ): NativeFunction<R, P>;
  /** Like `bind`, for long calls without thread-local effects. */
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
  /** Opens the first candidate that the dynamic loader finds. Throws `LIBRARY_NOT_FOUND` with the reason for each. */
  open(candidates: readonly string[]): NativeLibrary;
  /**
   * Loads the library that `open` would open on another thread, ahead of time. Resolves whether there is one or not.
   */
  preload(candidates: readonly string[]): Promise<void>;
  /** Zeroed memory outside the garbage collector's. */
  allocate(byteLength: number): NativeMemory;
  /** The memory at an address, less than 4 GiB of it; valid as long as the memory is. */
  view(address: Address, byteLength: number): Uint8Array;
  /**
   * The address of the bytes. Small arrays move during garbage collection: the address stays valid for shared,
   * WebAssembly or native memory, and for buffers of more than 64 bytes as long as they are reachable.
   */
  addressOf(bytes: Uint8Array): Address;
  /** The text at an address, up to its zero byte. */
  text(address: Address): string;
}
