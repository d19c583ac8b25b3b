import { highlight } from './highlight.ts';

/**
 * What is done with elements of answers that will not change any more: code gets colours, formulas their form. What a finished
 * element says is on the page already; where this fails, it stays as it is.
 */
export function finish(elements: Iterable<Node>): void {
  for (const element of elements) {
    if (!(element instanceof Element)) continue;
    for (const block of all(element, '.code')) {
      const language = block.querySelector('.code-head > span')?.textContent ?? '';
      void highlight([...block.querySelectorAll<HTMLElement>('pre code > span')], language);
    }
    const formulas = all(element, 'code.math, pre.math');
    if (formulas.length > 0) void typeset(formulas);
  }
}

function all(element: Element, selector: string): HTMLElement[] {
  const inner = [...element.querySelectorAll<HTMLElement>(selector)];
  return element instanceof HTMLElement && element.matches(selector) ? [element, ...inner] : inner;
}

/** Formulas are made when the first one comes: what makes them is larger than the page. */
async function typeset(formulas: readonly HTMLElement[]): Promise<void> {
  try {
    const { typesetFormula } = await import('./formula.ts');
    for (const formula of formulas) typesetFormula(formula);
  } catch {
    // Without a network, and not kept: the formulas stay as the model wrote them.
  }
}
