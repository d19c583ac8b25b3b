/** Languages that the page's texts are in. */
export type Language = 'en' | 'de';

/** Each in its own words. */
export const LANGUAGES: Readonly<Record<Language, string>> = { en: 'English', de: 'Deutsch' };

const KEY = 'rocmforge language';

/** The language that the person chose; undefined as long as it is the browser's. */
export function chosenLanguage(): Language | undefined {
  try {
    return languageOf(localStorage.getItem(KEY) ?? '');
  } catch {
    return undefined;
  }
}

/** Shows the page in a language from now on, or in the browser's. It is loaded again: all texts are chosen at its beginning. */
export function chooseLanguage(language: Language | undefined): void {
  try {
    if (language === undefined) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, language);
    location.reload();
  } catch {
    // Where nothing can be kept, the page is in the browser's language.
  }
}

function languageOf(tag: string): Language | undefined {
  const [language = ''] = tag.toLowerCase().split('-');
  return language in LANGUAGES ? (language as Language) : undefined;
}

/** What the page is in: the person's choice, or the first of the browser's languages that it knows. */
export const LANGUAGE: Language =
  chosenLanguage() ?? navigator.languages.map(languageOf).find((known) => known !== undefined) ?? 'en';
