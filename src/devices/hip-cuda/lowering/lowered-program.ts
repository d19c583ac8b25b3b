import { invariant } from '../../../base/errors.ts';
import type { Address } from '../../../device/index.ts';
import type { GraphAddresses, HipCudaWeight, LoweredGraph } from '../launching/kernel-set.ts';
import {
  f32,
  i32,
  type KernelArgument,
  type KernelModule,
  type Launch,
  pointer,
} from '../launching/launch.ts';
import type {
  AnyTemplate,
  Arg,
  CollectiveTemplate,
  LaunchTemplate,
  Place,
  ProductTemplate,
} from './launch-template.ts';

/** A graph as launches whose addresses are still symbolic. */
export class LoweredProgram implements LoweredGraph {
  readonly weights: readonly HipCudaWeight[];
  readonly scratchBytes: number;
  readonly modules: readonly KernelModule[];
  readonly #templates: readonly AnyTemplate[];

  constructor(of: {
    weights: readonly HipCudaWeight[];
    scratchBytes: number;
    modules: readonly KernelModule[];
    templates: readonly AnyTemplate[];
  }) {
    this.weights = of.weights;
    this.scratchBytes = of.scratchBytes;
    this.modules = of.modules;
    this.#templates = of.templates;
  }

  launches(at: GraphAddresses): readonly Launch[] {
    const addressOf = (place: Place): Address => {
      if (place === 'scratch') return at.scratch;
      if (!('kind' in place)) return at.weight(place);
      const address = at.of(place);
      invariant(address !== undefined, `${place.name} is bound`);
      return address;
    };
    return this.#templates.map((template) => {
      if ('shape' in template) return productAt(template, addressOf);
      return 'collective' in template ? collectiveAt(template, addressOf) : launchAt(template, addressOf);
    });
  }
}

function argumentAt(arg: Arg, addressOf: (place: Place) => Address): KernelArgument {
  if (arg.kind === 'address') return pointer(addressOf(arg.of) + arg.offset);
  if (arg.kind === 'null') return pointer(0);
  if (arg.kind === 'device') return pointer(arg.address);
  if (arg.kind === 'f32') return f32(arg.value);
  return i32(arg.value);
}

function productAt({ shape, factor, args }: ProductTemplate, addressOf: (place: Place) => Address): Launch {
  const [x = 0, w = 0, y = 0, workspace = 0, addend = 0] = args.map(
    (arg) => argumentAt(arg, addressOf).value,
  );
  return { kind: 'product', shape, factor, x, w, y, workspace, addend };
}

function collectiveAt(
  { collective, args }: CollectiveTemplate,
  addressOf: (place: Place) => Address,
): Launch {
  const [from = 0, to = 0] = args.map((arg) => argumentAt(arg, addressOf).value);
  return { kind: 'collective', of: { ...collective, from, to } };
}

function launchAt(template: LaunchTemplate, addressOf: (place: Place) => Address): Launch {
  const { module, kernel, sharedBytes, residentBlocks, cluster, args, block } = template;
  const [x, y, z] = template.grid;
  return {
    kind: 'kernel',
    module,
    kernel,
    grid: [x, y, z],
    block: [block, 1, 1],
    sharedBytes,
    residentBlocks,
    cluster,
    programmatic: template.programmatic,
    args: args.map((arg) => argumentAt(arg, addressOf)),
  };
}
