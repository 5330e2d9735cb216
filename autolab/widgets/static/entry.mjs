// ---- entry ----------------------------------------------------------------------------------------------------

function render({ model, el }) {
  letShortcutsThrough();
  return VIEWS[model.get("view")](model, el);
}

// A model has come from Python: the outputs of its widget become live, and go on without it when its kernel has gone.
function initialize({ model }) {
  const key = model.get("key"), places = () => SHARED.places.get(key) || [];
  const join = () => { SHARED.models.set(key, model); places().forEach((place) => place.join(model)); };
  const leave = () => { SHARED.models.delete(key); places().forEach((place) => place.leave(model)); };
  const alive = () => model.widget_manager.get_model(key).then((found) => found.comm_live, () => false);
  dress(model.get("_css"));
  join();
  model.on("comm_live_update", async () => {
    const live = await alive();
    if (live !== SHARED.models.has(key)) (live ? join : leave)();
  });
  return leave;
}

// Outputs that were saved without the module wait for one of the same version.
const slot = ((SHARED.modules ??= {})[VERSION] ??= {});
slot.loaded ??= new Promise((done) => { slot.done = done; });
slot.done({ mount });

export { mount };
export default { render, initialize };
