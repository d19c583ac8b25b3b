import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ElementReference, WebDriver } from './webdriver.ts';

/** A folder for pictures of what is driven, if people want to look at it. */
const PICTURES = process.env['ROCMFORGE_TEST_PICTURES'];

/** The visible elements of a selector within another one. */
const VISIBLE = `[...document.querySelectorAll(args[1] + ' ' + args[2])].filter((of) => of.checkVisibility())`;
/** How a control is called: by its label, or by its own text. */
const CALLED = `(of) => (of.getAttribute('aria-label') ?? of.labels?.[0]?.textContent ?? of.textContent).trim().replace(/\\s+/g, ' ')`;
const CONTROLS = 'a[href], button, input, select, textarea, summary, [tabindex="0"]';
const TURNS = '.turns > .turn';

/** The page as a person uses it, through WebDriver. */
export class WebDriverPage {
  readonly #driver: WebDriver;

  constructor(driver: WebDriver) {
    this.#driver = driver;
  }

  /** A visible button by the beginning of its name, once it is there. */
  button(name: string, within = 'body'): Promise<ElementReference> {
    return this.#named(name, within, 'button');
  }

  async press(name: string, within = 'body'): Promise<void> {
    if (within !== 'body')
      await this.#driver.value(`document.querySelector(args[0]).scrollIntoView()`, within);
    await this.#driver.click(await this.button(name, within));
  }

  /** Types into a field by the name of it. */
  async fill(name: string, text: string): Promise<void> {
    await this.#driver.type(await this.#named(name, 'body', ':is(input, textarea)'), text);
  }

  /** Types into a field in place of what it has. */
  async replace(name: string, text: string): Promise<void> {
    const field = await this.#named(name, 'body', ':is(input, textarea)');
    await this.#driver.value(`args[0].focus(), args[0].select()`, field);
    await this.#driver.type(field, text);
  }

  /** Sends a message, and waits for its answer. */
  async say(text: string, turns: number): Promise<void> {
    await this.fill('Message', `${text}\uE007`);
    await this.answered(text, turns);
  }

  /** Waits until so many turns are there, the last question is this one, and its answer has ended. */
  async answered(question: string, turns: number): Promise<void> {
    await this.turns(turns);
    await this.#driver.shown(
      `[...document.querySelectorAll('.said > p')].at(-1)?.textContent === args[0] && document.querySelector('${TURNS}:last-child .turn-foot')`,
      question,
    );
    await this.button('Send', '.composer');
  }

  async turns(count: number): Promise<void> {
    await this.#driver.shown(`document.querySelectorAll('${TURNS}').length === args[0]`, count);
  }

  said(): Promise<string[]> {
    return this.#driver.value(`[...document.querySelectorAll('.said > p')].map((of) => of.textContent)`);
  }

  /** The visible controls that a screen reader would say no name of, and those without a role. */
  async nameless(): Promise<string[]> {
    const controls = await this.#driver.value<ElementReference[]>(
      `${VISIBLE}`,
      '',
      'body',
      `:is(${CONTROLS})`,
    );
    const faults: string[] = [];
    for (const control of controls) {
      const { role, name } = await this.#driver.accessible(control);
      const isPlain = ['', 'generic', 'none'].includes(role.toLowerCase());
      if (name.trim() !== '' && !isPlain) continue;
      faults.push(`${role} "${name}": ${await this.#driver.value<string>('args[0].outerHTML', control)}`);
    }
    return faults;
  }

  async picture(name: string): Promise<void> {
    if (PICTURES === undefined) return;
    mkdirSync(PICTURES, { recursive: true });
    await this.#driver.picture(join(PICTURES, `${name}.png`));
  }

  #named(name: string, within: string, selector: string): Promise<ElementReference> {
    return this.#driver.shown(
      `${VISIBLE}.find((of) => (${CALLED})(of).startsWith(args[0]))`,
      name,
      within,
      selector,
    );
  }
}
