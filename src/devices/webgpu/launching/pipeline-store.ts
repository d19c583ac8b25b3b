import type { GPUBindGroupLayout, GPUComputePipeline, GPUDevice } from '../../../base/web-types.ts';
import { fail, invariant } from '../../../base/errors.ts';
import { COMPUTE_STAGE } from '../gpu-usage.ts';
import { type Access, type KernelModule, moduleText } from './kernel-module.ts';

/** A compiled module. */
export interface GpuKernel {
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
}

const BINDING_TYPES = {
  uniform: 'uniform',
  read: 'read-only-storage',
  write: 'storage',
} as const satisfies Record<Access, GPUBufferBindingType>;

/** Compiles modules, each text once. */
export class PipelineStore {
  readonly #device: GPUDevice;
  readonly #name: string;
  readonly #kernels = new Map<string, Promise<GpuKernel>>();
  readonly #loaded = new Map<string, GpuKernel>();
  /** Loaded modules by description object, for those bound as declared: assembling their texts takes long. */
  readonly #asDeclared = new WeakMap<KernelModule, GpuKernel>();
  readonly #layouts = new Map<string, GPUBindGroupLayout>();

  /** `name` is the device's, for messages. */
  constructor(device: GPUDevice, name: string) {
    this.#device = device;
    this.#name = name;
  }

  /** The module with its parameters bound this way. Rejects with `SHADER_COMPILE`. */
  load(module: KernelModule, accesses: readonly Access[]): Promise<GpuKernel> {
    const code = moduleText(module, accesses);
    const known = this.#kernels.get(code);
    if (known) return known;
    const made = this.#compile(module, accesses, code);
    this.#kernels.set(code, made);
    made.then(
      (kernel) => this.#loaded.set(code, kernel),
      () => this.#kernels.delete(code),
    );
    return made;
  }

  /** A module that was loaded before. */
  loaded(module: KernelModule, accesses: readonly Access[]): GpuKernel {
    const kernel = this.#loaded.get(moduleText(module, accesses));
    invariant(kernel, `${module.name} was compiled`);
    return kernel;
  }

  async #compile(module: KernelModule, accesses: readonly Access[], code: string): Promise<GpuKernel> {
    const { name } = module;
    const device = this.#device;
    device.pushErrorScope('validation');
    const shader = device.createShaderModule({ code, label: name });
    const layout = this.#layout(accesses);
    const pipelineLayout = device.createPipelineLayout({ bindGroupLayouts: [layout] });
    const pipeline = device.createComputePipelineAsync({
      label: name,
      layout: pipelineLayout,
      compute: { module: shader, entryPoint: 'main' },
    });
    const refused = device.popErrorScope();
    try {
      return { pipeline: await pipeline, layout };
    } catch (cause) {
      const { messages } = await shader.getCompilationInfo();
      const lines = messages.map(({ lineNum, message }) => `line ${lineNum}: ${message}`);
      const log = lines.join('\n') || (await refused)?.message || String(cause);
      return fail('SHADER_COMPILE', { kernel: name, device: this.#name, log }, cause);
    }
  }

  /** A module that was loaded before, bound as its parameters are declared. */
  loadedAsDeclared(module: KernelModule): GpuKernel {
    const known = this.#asDeclared.get(module);
    if (known) return known;
    const kernel = this.loaded(
      module,
      module.parameters.map(({ access }) => access),
    );
    this.#asDeclared.set(module, kernel);
    return kernel;
  }

  #layout(accesses: readonly Access[]): GPUBindGroupLayout {
    const key = accesses.join();
    const known = this.#layouts.get(key);
    if (known) return known;
    const layout = this.#device.createBindGroupLayout({
      entries: accesses.map((access, binding) => ({
        binding,
        visibility: COMPUTE_STAGE,
        buffer: { type: BINDING_TYPES[access] },
      })),
    });
    this.#layouts.set(key, layout);
    return layout;
  }
}
