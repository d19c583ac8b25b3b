import type { RmsNormOp, Tensor } from '../../ops/index.ts';
import type { Temporary } from '../gpu/graph-lowering.ts';

/** In which forms activations exist, so that each is made at most once and norms need no launch of their own. */
export class ActivationForms<Form extends string> {
  readonly #norms = new Map<Tensor, RmsNormOp>();
  readonly #made = new Map<Form, Map<Tensor, Temporary>>();
  readonly #space: (tensor: Tensor, form: Form) => Temporary;

  /** `space` gives memory for a tensor in a form. */
  constructor(space: (tensor: Tensor, form: Form) => Temporary) {
    this.#space = space;
  }

  /** The norm is not computed by itself: what reads its result norms for itself, or makes a form of it. */
  absorb(norm: RmsNormOp): void {
    this.#norms.set(norm.out, norm);
  }

  /** Memory for a tensor in a form, which the caller fills before anyone reads it. */
  provide(tensor: Tensor, form: Form): Temporary {
    const made = this.#space(tensor, form);
    const known = this.#made.get(form);
    if (known) known.set(tensor, made);
    else this.#made.set(form, new Map([[tensor, made]]));
    return made;
  }

  /** The tensor in a form, if it was made. */
  protected madeOf(tensor: Tensor, form: Form): Temporary | undefined {
    return this.#made.get(form)?.get(tensor);
  }

  /** The norm whose result the tensor would be, if it was absorbed. */
  protected normOf(tensor: Tensor): RmsNormOp | undefined {
    return this.#norms.get(tensor);
  }
}
