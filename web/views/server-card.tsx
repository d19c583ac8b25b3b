import { useState } from 'preact/hooks';
import type { AppState } from '../state/app-state.ts';
import type { ModelProps, ServerModel } from '../state/chat-server.ts';
import { TEXTS } from '../texts.ts';

const { picker: TEXT } = TEXTS;

/** A model of the server: used, loaded and unloaded, and told about. */
export function ServerCard({ state, model }: { state: AppState; model: ServerModel }) {
  const { id, context } = model;
  const status = state.session.status.value;
  const isUsed = status.kind === 'ready' && status.engine.place === 'server' && status.title === id;
  return (
    <div class={isUsed ? 'card featured' : 'card'}>
      <div class="card-text">
        <strong>{id}</strong>
        {context !== undefined && <small>{TEXT.context(context)}</small>}
        {model.state === 'ready' && <About state={state} model={model} />}
      </div>
      <div class="card-buttons">
        <LoadButton state={state} model={model} />
        {isUsed ? (
          <small>{TEXT.inUse}</small>
        ) : (
          <button type="button" class="primary" onClick={() => void state.use(model)}>
            {TEXT.use}
            <span class="hidden"> {id}</span>
          </button>
        )}
      </div>
    </div>
  );
}

/** Loads a model of several, or unloads it: one alone is loaded when it is used, and stays. */
function LoadButton({ state, model: { id, state: loaded } }: { state: AppState; model: ServerModel }) {
  const [isBusy, setBusy] = useState(false);
  const { server } = state;
  if (loaded === undefined || server.models.value.length < 2) return null;
  if (isBusy || loaded === 'loading')
    return <small role="status">{isBusy ? TEXT.working : TEXT.loading}</small>;
  const isReady = loaded === 'ready';
  const press = async () => {
    setBusy(true);
    const said = await server.setLoaded(id, !isReady);
    setBusy(false);
    if (said !== undefined) state.notice.value = { title: id, text: said };
  };
  return (
    <button type="button" onClick={() => void press()}>
      {isReady ? TEXT.unload : TEXT.load}
      <span class="hidden"> {id}</span>
    </button>
  );
}

/** What the server tells of a model, when somebody wants to know. */
function About({
  state: { server },
  model: { id, name, architecture },
}: {
  state: AppState;
  model: ServerModel;
}) {
  const [props, setProps] = useState<ModelProps>();
  const open = () => void server.props(id).then(setProps, () => setProps({}));
  const facts = [name, architecture, props?.total_slots !== undefined && TEXT.slots(props.total_slots)];
  return (
    <details class="about" onToggle={({ currentTarget }) => currentTarget.open && open()}>
      <summary>
        {TEXT.about}
        <span class="hidden"> {id}</span>
      </summary>
      <small>{facts.filter(Boolean).join(' · ')}</small>
      {props?.chat_template && (
        <>
          <small>{TEXT.template}</small>
          <pre tabIndex={0}>{props.chat_template}</pre>
        </>
      )}
    </details>
  );
}
