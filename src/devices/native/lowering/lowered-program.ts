import { invariant } from '../../../base/errors.ts';
import type { Address } from '../../../device/index.ts';
import type { GraphAddresses, LoweredGraph, PackRows } from '../launching/kernel-set.ts';
import { f32, i32, type KernelModule, type Launch, pointer } from '../launching/launch.ts';
import type { Arg, LaunchTemplate, NativeWeight, Place } from './launch-template.ts';

/** A graph as launches whose addresses are still names. */
export class LoweredProgram implements LoweredGraph {
  readonly weights: readonly NativeWeight[];
  readonly scratchBytes: number;
  readonly modules: readonly KernelModule[];
  readonly #templates: readonly LaunchTemplate[];

  constructor(of: {
    weights: readonly NativeWeight[];
    scratchBytes: number;
    modules: readonly KernelModule[];
    templates: readonly LaunchTemplate[];
  }) {
    this.weights = of.weights;
    this.scratchBytes = of.scratchBytes;
    this.modules = of.modules;
    this.#templates = of.templates;
  }

  launches(at: GraphAddresses): readonly Launch[] {
    const addressOf = (place: Place): Address => {
      if (place === 'scratch') return at.scratch;
      invariant(place !== 'source' && place !== 'target', 'only packing names the file');
      if (!('kind' in place)) return at.weight(place);
      const address = at.of(place);
      invariant(address !== undefined, `${place.name} is bound`);
      return address;
    };
    return this.#templates.map((template) => launchAt(template, addressOf));
  }

  pack({ weight, part, firstRow, rowCount, rows, target }: PackRows): readonly Launch[] {
    const own = this.weights.find((known) => known === weight);
    invariant(own, 'the weight is one of the program');
    const template = own.pack(part, firstRow, rowCount);
    return [launchAt(template, (place) => (place === 'source' ? rows : target))];
  }
}

function launchAt(template: LaunchTemplate, addressOf: (place: Place) => Address): Launch {
  const { module, kernel, sharedBytes, args, block } = template;
  const value = (arg: Arg) => {
    if (arg.kind === 'address') return pointer(addressOf(arg.of) + arg.offset);
    if (arg.kind === 'null') return pointer(0);
    return arg.kind === 'i32' ? i32(arg.value) : f32(arg.value);
  };
  const [x, y, z] = template.grid;
  return {
    kind: 'kernel',
    module,
    kernel,
    grid: [x, y, z],
    block: [block, 1, 1],
    sharedBytes,
    programmatic: template.programmatic,
    args: args.map(value),
  };
}
