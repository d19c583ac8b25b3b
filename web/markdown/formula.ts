import katex from 'katex';

/**
 * Puts a formula's form in place of its LaTeX, as MathML, which browsers lay out with the device's fonts and read aloud. What
 * LaTeX does not know, or would lead elsewhere, stays as it is written.
 */
export function typesetFormula(element: HTMLElement): void {
  const written = element.textContent ?? '';
  if (element.querySelector('math') !== null) return;
  const into = document.createElement('span');
  try {
    katex.render(written, into, {
      output: 'mathml',
      displayMode: element.tagName === 'PRE',
      throwOnError: true,
      strict: 'ignore',
      trust: false,
    });
  } catch {
    return;
  }
  // One that was removed or changed meanwhile is another element's.
  if (element.textContent !== written) return;
  element.classList.add('typeset');
  element.replaceChildren(...into.childNodes);
}
