import { signal } from '@preact/signals';
import { Conversation } from './conversation.ts';
import { type LoadRequest, ModelSession } from './model-session.ts';
import { ModelShelf } from './model-shelf.ts';
import { keptSettings } from './settings.ts';

/** The state of the page. */
export class AppState {
  readonly settings = keptSettings();
  readonly shelf = new ModelShelf();
  readonly session = new ModelSession(this.settings);
  readonly conversation = new Conversation(this.settings);
  /** The open dialog. */
  readonly dialog = signal<'models' | 'settings' | undefined>(undefined);

  constructor() {
    void this.shelf.refresh();
  }

  /** Loads a model and starts a new conversation with it. */
  async load(request: LoadRequest): Promise<void> {
    this.dialog.value = undefined;
    this.conversation.clear();
    await this.session.load(request);
    await this.shelf.refresh();
  }

  /** Loads the user's files, of which the first is opened. */
  async loadFiles(files: readonly File[]): Promise<void> {
    const models = files
      .filter(({ name }) => /\.gguf$/i.test(name))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    const [first] = models.length > 0 ? models : files;
    if (!first) return;
    await this.load({ location: models.length > 1 ? models : first, title: first.name });
  }
}
