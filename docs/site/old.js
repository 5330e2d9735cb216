// For browsers that cannot read the pages' module, so in words that each of them knows (ES5). The module marks the page once it runs.
window.addEventListener("load", function () {
  var place = document.querySelector("[data-autolab]"), text = document.querySelector("article h1");
  if (!place || !text || document.documentElement.hasAttribute("data-autolab-live")) return;
  var notice = document.createElement("p");
  notice.className = "notice";
  notice.setAttribute("role", "status");
  notice.appendChild(document.createTextNode(
    "What moves on this page needs a newer browser, or its script could not be loaded. Pictures and text are complete."));
  text.parentNode.insertBefore(notice, text.nextSibling);
});
