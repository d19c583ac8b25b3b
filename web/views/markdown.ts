import DOMPurify from 'dompurify';
import { marked } from 'marked';

/** Images would be fetched from wherever the model says; styles and forms do not belong in an answer. */
const FORBIDDEN = {
  FORBID_TAGS: ['img', 'style', 'form', 'input', 'button', 'video', 'audio', 'picture', 'svg', 'math'],
  FORBID_ATTR: ['style', 'class', 'id'],
};

/** Renders an answer's Markdown as sanitized HTML. */
export function renderMarkdown(text: string): string {
  const html = marked.parse(text, { async: false, breaks: true, gfm: true });
  const fragment = DOMPurify.sanitize(html, { ...FORBIDDEN, RETURN_DOM_FRAGMENT: true });
  for (const link of fragment.querySelectorAll('a')) {
    link.target = '_blank';
    link.rel = 'noopener noreferrer';
  }
  // Wide code blocks and tables scroll on their own, by keyboard too.
  for (const wide of fragment.querySelectorAll('pre, table')) wide.setAttribute('tabindex', '0');
  const holder = document.createElement('div');
  holder.append(fragment);
  return holder.innerHTML;
}
