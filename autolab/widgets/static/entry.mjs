// ---- entry ----------------------------------------------------------------------------------------------------

function render({ model, el }) {
  return VIEWS[model.get("view")](model, el);
}

export default { render };
