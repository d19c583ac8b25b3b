import { promisify } from 'node:util';
import type koffiExports from 'koffi';
import { fail, invariant } from '../base/errors.ts';
import type {
  AsyncNativeFunction,
  Ffi,
  NativeFunction,
  NativeLibrary,
  NativeMemory,
  NativeType,
} from '../device/index.ts';
import { importKoffi, natively } from './native-loading.ts';

/** A view of 4 GiB or more aborts Node 20. */
const MAX_VIEW_BYTES = 2 ** 32 - 1;

/** koffi's names of the native types that it knows. Addresses are passed as integers, which is faster in koffi than pointers. */
const KNOWN_TYPES: Readonly<Record<Exclude<NativeType, 'bytes128'>, string>> = {
  void: 'void',
  i32: 'int32_t',
  u32: 'uint32_t',
  u64: 'uint64_t',
  size: 'size_t',
  f32: 'float',
  address: 'uintptr_t',
  text: 'const char *',
};

/** Where `calloc` is: on Windows, a program exports nothing of its C library. */
const C_LIBRARY = process.platform === 'win32' ? 'ucrtbase.dll' : null;

/** For `dlopen`, on Linux and macOS. */
const RTLD_NOW = 2;

type Koffi = typeof koffiExports;
type KoffiLibrary = ReturnType<Koffi['load']>;
type KoffiFunction = ReturnType<KoffiLibrary['func']>;
type KoffiTypes = Readonly<Record<NativeType, string | ReturnType<Koffi['struct']>>>;

/** Options of native calls. */
export interface KoffiOptions {
  /**
   * Stack size of calls for which koffi's default of one megabyte is too small. Applies to the process, and must be set
   * before the first library is opened.
   */
  readonly stackBytes?: number;
}

/** Native calls through koffi, an optional dependency. Rejects with `FFI_UNAVAILABLE` if it cannot be loaded. */
export async function loadKoffiFfi({ stackBytes }: KoffiOptions = {}): Promise<Ffi> {
  const { default: koffi } = await importKoffi().catch((cause: unknown) =>
    fail('FFI_UNAVAILABLE', { why: messageOf(cause) }, cause),
  );
  return natively(() => {
    if (stackBytes !== undefined) koffi.config({ sync_stack_size: stackBytes });
    return new KoffiFfi(koffi);
  });
}

/** The native types. Structures have no name here: names are the process's, which may have this package twice. */
function typesOf(koffi: Koffi): KoffiTypes {
  return { ...KNOWN_TYPES, bytes128: koffi.struct({ bytes: koffi.array('uint8_t', 128) }) };
}

class KoffiFfi implements Ffi {
  readonly #koffi: Koffi;
  readonly #types: KoffiTypes;
  readonly #calloc: (count: number, size: number) => number;
  readonly #free: (address: number) => undefined;
  /** Undefined if the system uses another mechanism. */
  readonly #dlopen: ((name: string, flags: number) => Promise<number>) | undefined;

  constructor(koffi: Koffi) {
    this.#koffi = koffi;
    this.#types = typesOf(koffi);
    const c = koffi.load(C_LIBRARY);
    this.#calloc = c.func('calloc', 'uintptr_t', ['size_t', 'size_t']);
    this.#free = c.func('free', 'void', ['uintptr_t']);
    const library = new KoffiNativeLibrary('the C library', c, this.#types);
    this.#dlopen = library.has('dlopen')
      ? library.bindAsync('dlopen', 'address', ['text', 'i32'])
      : undefined;
  }

  open(candidates: readonly string[]): NativeLibrary {
    const reasons: string[] = [];
    for (const name of candidates) {
      try {
        return natively(() => new KoffiNativeLibrary(name, this.#koffi.load(name), this.#types));
      } catch (error) {
        const reason = messageOf(error);
        // A library may exist but lack one that it depends on, which is then named after the colon.
        const absent =
          /shared library: (?:cannot open shared object file: No such file|Module not found)/.test(reason);
        reasons.push(absent ? `${name} was not found` : `${name}: ${reason}`);
      }
    }
    return fail('LIBRARY_NOT_FOUND', { library: candidates[0] ?? '', reasons: reasons.join(', ') });
  }

  async preload(candidates: readonly string[]): Promise<void> {
    const dlopen = this.#dlopen;
    if (!dlopen) return;
    // If preloading fails, `open` loads the library or reports the error.
    for (const name of candidates) if ((await dlopen(name, RTLD_NOW).catch(() => 0)) !== 0) return;
  }

  allocate(byteLength: number): NativeMemory {
    const address = this.#calloc(1, byteLength);
    if (address === 0) {
      fail('OUT_OF_MEMORY', { device: 'host', what: 'native memory', bytes: byteLength, free: 0 });
    }
    const bytes = this.view(address, byteLength);
    let freed = false;
    return {
      address,
      bytes,
      view: new DataView(bytes.buffer, bytes.byteOffset, byteLength),
      [Symbol.dispose]: () => {
        if (!freed) this.#free(address);
        freed = true;
      },
    };
  }

  view(address: number, byteLength: number): Uint8Array {
    invariant(byteLength <= MAX_VIEW_BYTES, `a native view of ${byteLength} bytes is not possible`);
    return new Uint8Array(natively(() => this.#koffi.view(address, byteLength)));
  }

  addressOf(bytes: Uint8Array): number {
    return Number(natively(() => this.#koffi.address(bytes)));
  }

  text(address: number): string {
    return natively(() => this.#koffi.decode.string(address));
  }
}

class KoffiNativeLibrary implements NativeLibrary {
  readonly name: string;
  readonly #library: KoffiLibrary;
  readonly #types: KoffiTypes;

  constructor(name: string, library: KoffiLibrary, types: KoffiTypes) {
    this.name = name;
    this.#library = library;
    this.#types = types;
  }

  has(symbol: string): boolean {
    try {
      natively(() => this.#library.symbol(symbol));
      return true;
    } catch {
      return false;
    }
  }

  bind<R extends NativeType, const P extends readonly NativeType[]>(
    symbol: string,
    result: R,
    parameters: P,
  ): NativeFunction<R, P> {
    return this.#function(symbol, result, parameters) as NativeFunction<R, P>;
  }

  bindAsync<R extends NativeType, const P extends readonly NativeType[]>(
    symbol: string,
    result: R,
    parameters: P,
  ): AsyncNativeFunction<R, P> {
    const bound = this.#function(symbol, result, parameters);
    return promisify(bound.async) as AsyncNativeFunction<R, P>;
  }

  #function(symbol: string, result: NativeType, parameters: readonly NativeType[]): KoffiFunction {
    try {
      const types = parameters.map((type) => this.#types[type]);
      return natively(() => this.#library.func(symbol, this.#types[result], types));
    } catch (cause) {
      return fail('SYMBOL_NOT_FOUND', { library: this.name, symbol }, cause);
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
