import type { UnsharedBytes } from '../../../base/web-types.ts';
import { fail, isRocmforgeError } from '../../../base/errors.ts';
import type { Address, Ffi, NativeLibrary, NativeMemory } from '../../../device/index.ts';
import type { CompileJob, CompileResult } from '../platform.ts';
import type { CompilerTable } from './compiler-table.ts';

const RESULT_BYTES = 16;

/**
 * A driver's run-time compiler. It blocks the calling thread, and an old hipRTC ends the process if it does not know
 * the target: so it should run in a separate one.
 */
export class RunTimeCompiler {
  /** `hiprtc 7.0 (libhiprtc.so.7)`. */
  readonly version: string;
  readonly #ffi: Ffi;
  readonly #calls: ReturnType<typeof bindCalls>;
  readonly #result: NativeMemory;

  /** Throws `LIBRARY_NOT_FOUND`. */
  constructor(ffi: Ffi, table: CompilerTable, libraries: readonly string[] = table.libraries) {
    const library = openCompiler(ffi, table, libraries);
    this.#ffi = ffi;
    this.#calls = bindCalls(library, table);
    this.#result = ffi.allocate(RESULT_BYTES);
    this.#calls.version(this.#result.address, this.#result.address + 4);
    const { view } = this.#result;
    const release = `${view.getInt32(0, true)}.${view.getInt32(4, true)}`;
    this.version = `${table.prefix} ${release} (${library.name})`;
  }

  /** Compiles one source. The compiler's errors are returned as `log`. */
  compile({ name, source, options }: CompileJob): CompileResult {
    const created = this.#calls.create(this.#result.address, source, name, 0, 0, 0);
    if (created !== 0) return { log: `the compiler refused the text: ${this.#describe(created)}` };
    const program = this.#pointer();
    using words = new TextArray(this.#ffi, options);
    try {
      const status = this.#calls.compile(program, options.length, words.address);
      if (status !== 0) return { log: `${this.version}: ${this.#describe(status)}: ${this.#log(program)}` };
      return { code: this.#read(program, this.#calls.codeSize, this.#calls.code) };
    } finally {
      this.#calls.destroy(this.#result.address);
    }
  }

  #log(program: Address): string {
    const bytes = this.#read(program, this.#calls.logSize, this.#calls.log);
    return new TextDecoder().decode(bytes).replace(/\0+$/, '').trim();
  }

  #read(
    program: Address,
    size: (program: Address, bytes: Address) => number,
    contents: (program: Address, into: Address) => number,
  ): UnsharedBytes {
    size(program, this.#result.address);
    using memory = this.#ffi.allocate(Math.max(1, this.#pointer()));
    contents(program, memory.address);
    const bytes = memory.bytes.slice();
    // `destroy` takes a pointer to the program.
    writePointer(this.#result.view, 0, program);
    return bytes;
  }

  #pointer(): Address {
    const { view } = this.#result;
    return view.getUint32(0, true) + view.getUint32(4, true) * 2 ** 32;
  }

  #describe(status: number): string {
    return this.#ffi.text(this.#calls.describe(status));
  }
}

/** The first library that contains the compiler. Throws `LIBRARY_NOT_FOUND`. */
export function openCompiler(
  ffi: Ffi,
  table: CompilerTable,
  libraries: readonly string[] = table.libraries,
): NativeLibrary {
  for (const companion of table.companions) {
    try {
      ffi.open([companion]);
      break;
    } catch (error) {
      if (!isRocmforgeError(error, 'LIBRARY_NOT_FOUND')) throw error;
    }
  }
  const reasons: string[] = [];
  for (const name of libraries) {
    try {
      const library = ffi.open([name]);
      if (library.has(`${table.prefix}CreateProgram`)) return library;
      reasons.push(`${name} has no ${table.prefix}CreateProgram`);
    } catch (error) {
      if (!isRocmforgeError(error, 'LIBRARY_NOT_FOUND')) throw error;
      reasons.push(error.params.reasons);
    }
  }
  return fail('LIBRARY_NOT_FOUND', { library: table.prefix, reasons: reasons.join('; ') });
}

function bindCalls(library: NativeLibrary, { prefix, code }: CompilerTable) {
  const bind = library.bind.bind(library);
  return {
    version: bind(`${prefix}Version`, 'i32', ['address', 'address']),
    create: bind(`${prefix}CreateProgram`, 'i32', ['address', 'text', 'text', 'i32', 'address', 'address']),
    compile: bind(`${prefix}CompileProgram`, 'i32', ['address', 'i32', 'address']),
    logSize: bind(`${prefix}GetProgramLogSize`, 'i32', ['address', 'address']),
    log: bind(`${prefix}GetProgramLog`, 'i32', ['address', 'address']),
    codeSize: bind(`${prefix}Get${code}Size`, 'i32', ['address', 'address']),
    code: bind(`${prefix}Get${code}`, 'i32', ['address', 'address']),
    destroy: bind(`${prefix}DestroyProgram`, 'i32', ['address']),
    describe: bind(`${prefix}GetErrorString`, 'address', ['i32']),
  };
}

/** A C array of C strings. */
class TextArray implements Disposable {
  readonly #memory: NativeMemory;

  constructor(ffi: Ffi, texts: readonly string[]) {
    const encoded = texts.map((text) => new TextEncoder().encode(`${text}\0`));
    const pointers = 8 * Math.max(1, texts.length);
    this.#memory = ffi.allocate(encoded.reduce((sum, bytes) => sum + bytes.byteLength, pointers));
    let at = pointers;
    encoded.forEach((bytes, index) => {
      writePointer(this.#memory.view, 8 * index, this.#memory.address + at);
      this.#memory.bytes.set(bytes, at);
      at += bytes.byteLength;
    });
  }

  get address(): Address {
    return this.#memory.address;
  }

  [Symbol.dispose](): void {
    this.#memory[Symbol.dispose]();
  }
}

function writePointer(view: DataView, at: number, address: Address): void {
  view.setUint32(at, address % 2 ** 32, true);
  view.setUint32(at + 4, Math.floor(address / 2 ** 32), true);
}
