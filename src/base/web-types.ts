/**
 * Types of the web platform that this package's declarations mention. Each is the type that the compiling program
 * declares (TypeScript's `dom`, which has WebGPU since TypeScript 6), and an object of which nothing is known where it
 * declares none: so a program for Node compiles without `dom`. `@types/node` does the same for `fetch` and its kin.
 */
type Declared<Name extends string> =
  typeof globalThis extends Record<Name, { prototype: infer T }> ? T : object;

type DeclaredWasm<Name extends string> = typeof globalThis extends {
  WebAssembly: Record<Name, { prototype: infer T }>;
}
  ? T
  : object;

/** WebGPU's entry point: https://www.w3.org/TR/webgpu/#gpu-interface */
export type GPU = typeof globalThis extends { GPU: { prototype: infer T } }
  ? T
  : { requestAdapter(options?: object): Promise<object | null> };
/** https://www.w3.org/TR/webgpu/#gpu-adapter */
export type GPUAdapter = Declared<'GPUAdapter'>;
/** https://www.w3.org/TR/webgpu/#gpu-bind-group */
export type GPUBindGroup = Declared<'GPUBindGroup'>;
/** https://www.w3.org/TR/webgpu/#bind-group-layout */
export type GPUBindGroupLayout = Declared<'GPUBindGroupLayout'>;
/** https://www.w3.org/TR/webgpu/#buffer-interface */
export type GPUBuffer = typeof globalThis extends { GPUBuffer: { prototype: infer T } } ? T : object;
/** https://www.w3.org/TR/webgpu/#command-encoder */
export type GPUCommandEncoder = Declared<'GPUCommandEncoder'>;
/** https://www.w3.org/TR/webgpu/#compute-pipeline */
export type GPUComputePipeline = Declared<'GPUComputePipeline'>;
/** https://www.w3.org/TR/webgpu/#gpu-device */
export type GPUDevice = Declared<'GPUDevice'>;

/** A dictionary, which no object stands for at run time: it is taken from the method that reads it. */
export type GPUBufferDescriptor = GPUDevice extends { createBuffer(descriptor: infer T): unknown }
  ? T
  : object;
type DeviceDescriptor = GPUAdapter extends { requestDevice(descriptor?: infer T): unknown }
  ? NonNullable<T>
  : object;
/** The names of features, from the descriptor of a device. */
export type GPUFeatureName = DeviceDescriptor extends { requiredFeatures?: Iterable<infer T extends string> }
  ? T
  : string;
/** A dictionary, from the method that reads it. */
export type GPURequestAdapterOptions = GPU extends { requestAdapter(options?: infer T): unknown }
  ? T & object
  : object;

/** https://webassembly.github.io/spec/js-api/#memories */
export type WasmMemory = DeclaredWasm<'Memory'>;
/** https://webassembly.github.io/spec/js-api/#modules */
export type WasmModule = DeclaredWasm<'Module'>;
/** The bytes of a module. */
export type WasmSource = typeof globalThis extends { WebAssembly: { validate(bytes: infer T): boolean } }
  ? T
  : ArrayBuffer | ArrayBufferView;
/** What an instance exports, by name. */
export type WasmExports = Record<string, unknown>;

/**
 * Bytes that are not shared between threads, as `fetch`, `Blob` and WebAssembly take them: `Uint8Array<ArrayBuffer>`
 * since TypeScript 5.7, where the type got a parameter.
 */
export type UnsharedBytes = ReturnType<typeof Uint8Array.of>;

/** A file of the origin private file system: https://fs.spec.whatwg.org/ */
export type FileSystemFileHandle = Declared<'FileSystemFileHandle'>;
