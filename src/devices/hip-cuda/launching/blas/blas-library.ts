import { fail } from '../../../../base/errors.ts';
import type { Address, Ffi, NativeLibrary, NativeMemory } from '../../../../device/index.ts';
import type { Driver } from '../../driver/driver.ts';
import type { BlasShape, ProductLaunch } from '../launch.ts';
import type { BlasTable } from './blas-table.ts';

/** `CUDA_R_32F`, `CUDA_R_16F` and `CUDA_R_16BF`, which have the same values in HIP. */
const TYPES = { f32: 0, f16: 2, bf16: 14 } as const;
/** `…MATMUL_PREF_MAX_WORKSPACE_BYTES`. */
const MAX_WORKSPACE = 1;

/** Offsets of the calls' small arguments and results in the native memory. */
const PLACE = { factor: 0, share: 4, result: 8, word: 16, count: 24, heuristic: 64 } as const;
const MEMORY_BYTES = 256;

/** A shape's descriptors, and the algorithm chosen for it. */
interface ProductPlan {
  readonly operation: Address;
  readonly w: Address;
  readonly x: Address;
  readonly y: Address;
  readonly algorithm: Uint8Array;
}

/** The driver's library of matrix products: cuBLASLt or hipBLASLt. Its handle is created for the first product. */
export class BlasLibrary implements Disposable {
  /** The file that was loaded. */
  readonly file: string;
  readonly #driver: Driver;
  readonly #table: BlasTable;
  readonly #calls: ReturnType<typeof bindCalls>;
  readonly #memory: NativeMemory;
  readonly #plans = new Map<string, ProductPlan>();
  #handle: Address | undefined;

  /** Throws `LIBRARY_NOT_FOUND` or `SYMBOL_NOT_FOUND`. */
  constructor(ffi: Ffi, table: BlasTable, driver: Driver) {
    const library = ffi.open(table.libraries);
    this.file = library.name;
    this.#driver = driver;
    this.#table = table;
    this.#calls = bindCalls(library, table.prefix);
    this.#memory = ffi.allocate(MEMORY_BYTES);
  }

  /**
   * Selects a shape's algorithm and runs it once on its own memory, because this loads code, which is not allowed
   * during a capture. Waits.
   */
  prepare(shape: BlasShape, stream: Address): void {
    if (this.#plans.has(keyOf(shape))) return;
    this.#driver.use();
    const plan = this.#plan(shape);
    this.#plans.set(keyOf(shape), plan);
    const { type, results, rows, outputs, columns, workspaceBytes } = shape;
    const size = sizeOf(type);
    const bytes = Math.max(
      size * rows * columns,
      size * outputs * columns,
      sizeOf(results) * rows * outputs,
      workspaceBytes,
    );
    const memory = this.#driver.allocate(bytes, 'a first product');
    try {
      this.#driver.fill(memory, 0, bytes, stream);
      const everywhere = { x: memory, w: memory, y: memory, workspace: memory, addend: 0 };
      this.multiply({ kind: 'product', shape, factor: 0, ...everywhere }, stream);
      this.#driver.synchronizeStream(stream);
    } finally {
      this.#driver.free(memory);
    }
  }

  /** Queues a product whose shape is prepared. The library's matrices are column-major, so it computes yᵀ = w xᵀ. */
  multiply({ shape, factor, x, w, y, workspace, addend }: ProductLaunch, stream: Address): void {
    this.#driver.use();
    const plan = this.#plans.get(keyOf(shape)) ?? this.#plan(shape);
    const { address, view, bytes } = this.#memory;
    view.setFloat32(PLACE.factor, factor, true);
    view.setFloat32(PLACE.share, addend === 0 ? 0 : 1, true);
    bytes.set(plan.algorithm, PLACE.heuristic);
    const [alpha, beta] = [address + PLACE.factor, address + PLACE.share];
    const added = addend === 0 ? y : addend;
    const algorithm = address + PLACE.heuristic;
    const { workspaceBytes } = shape;
    const status = this.#calls.multiply(
      ...[this.#open(), plan.operation, alpha, w, plan.w, x, plan.x, beta, added, plan.y, y, plan.y],
      ...[algorithm, workspace, workspaceBytes, stream],
    );
    this.#check('Matmul', status);
  }

  [Symbol.dispose](): void {
    for (const { operation, w, x, y } of this.#plans.values()) {
      this.#calls.destroyOperation(operation);
      for (const layout of [w, x, y]) this.#calls.destroyLayout(layout);
    }
    this.#plans.clear();
    if (this.#handle !== undefined) this.#calls.destroy(this.#handle);
    this.#handle = undefined;
    this.#memory[Symbol.dispose]();
  }

  #open(): Address {
    this.#handle ??= this.#created('Create', this.#calls.create(this.#result));
    return this.#handle;
  }

  #plan({ type, results, rows, outputs, columns, workspaceBytes }: BlasShape): ProductPlan {
    const { computeFloats, transposeFirst, transposed, algorithmBytes } = this.#table;
    const handle = this.#open();
    const calls = this.#calls;
    const operation = this.#created(
      'MatmulDescCreate',
      calls.createOperation(this.#result, computeFloats, TYPES.f32),
    );
    const word = this.#memory.address + PLACE.word;
    this.#memory.view.setInt32(PLACE.word, transposed, true);
    this.#check('MatmulDescSetAttribute', calls.setOperation(operation, transposeFirst, word, 4));
    const layout = (type: number, height: number, width: number) =>
      this.#created('MatrixLayoutCreate', calls.createLayout(this.#result, type, height, width, height));
    const w = layout(TYPES[type], columns, outputs);
    const x = layout(TYPES[type], columns, rows);
    const y = layout(TYPES[results], outputs, rows);
    const preference = this.#created('MatmulPreferenceCreate', calls.createPreference(this.#result));
    this.#memory.view.setBigUint64(PLACE.word, BigInt(workspaceBytes), true);
    this.#check('MatmulPreferenceSetAttribute', calls.setPreference(preference, MAX_WORKSPACE, word, 8));
    const { address, view, bytes } = this.#memory;
    view.setInt32(PLACE.count, 0, true);
    const status = calls.choose(
      ...[handle, operation, w, x, y, y, preference, 1, address + PLACE.heuristic, address + PLACE.count],
    );
    this.#check('MatmulAlgoGetHeuristic', status);
    this.#check('MatmulAlgoGetHeuristic without a result', view.getInt32(PLACE.count, true) > 0 ? 0 : 15);
    this.#check('MatmulPreferenceDestroy', calls.destroyPreference(preference));
    return { operation, w, x, y, algorithm: bytes.slice(PLACE.heuristic, PLACE.heuristic + algorithmBytes) };
  }

  get #result(): Address {
    return this.#memory.address + PLACE.result;
  }

  #created(call: string, status: number): Address {
    this.#check(call, status);
    return Number(this.#memory.view.getBigUint64(PLACE.result, true));
  }

  #check(call: string, status: number): void {
    if (status === 0) return;
    const { device } = this.#driver;
    const text = `a status of ${this.file}`;
    fail('DRIVER_CALL', {
      device,
      call: this.#table.prefix + call,
      status,
      text,
      hint: 'the library may be of another version than the driver',
    });
  }
}

function sizeOf(type: BlasShape['type']): number {
  return type === 'f32' ? 4 : 2;
}

function keyOf({ type, results, rows, outputs, columns, workspaceBytes }: BlasShape): string {
  return [type, results, rows, outputs, columns, workspaceBytes].join(' ');
}

function bindCalls(library: NativeLibrary, prefix: string) {
  const bind = library.bind.bind(library);
  const a = 'address';
  return {
    create: bind(`${prefix}Create`, 'i32', [a]),
    destroy: bind(`${prefix}Destroy`, 'i32', [a]),
    createOperation: bind(`${prefix}MatmulDescCreate`, 'i32', [a, 'i32', 'i32']),
    setOperation: bind(`${prefix}MatmulDescSetAttribute`, 'i32', [a, 'i32', a, 'size']),
    destroyOperation: bind(`${prefix}MatmulDescDestroy`, 'i32', [a]),
    createLayout: bind(`${prefix}MatrixLayoutCreate`, 'i32', [a, 'i32', 'u64', 'u64', 'u64']),
    destroyLayout: bind(`${prefix}MatrixLayoutDestroy`, 'i32', [a]),
    createPreference: bind(`${prefix}MatmulPreferenceCreate`, 'i32', [a]),
    setPreference: bind(`${prefix}MatmulPreferenceSetAttribute`, 'i32', [a, 'i32', a, 'size']),
    destroyPreference: bind(`${prefix}MatmulPreferenceDestroy`, 'i32', [a]),
    choose: bind(`${prefix}MatmulAlgoGetHeuristic`, 'i32', [a, a, a, a, a, a, a, 'i32', a, a]),
    multiply: bind(`${prefix}Matmul`, 'i32', [a, a, a, a, a, a, a, a, a, a, a, a, a, a, 'size', a]),
  };
}
