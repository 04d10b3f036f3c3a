// Says in words why the lab did not start, in place of "Loading" for ever.
// It stops speaking once the lab has replaced the start page.
(function () {
  function fail(reason) {
    var status = document.getElementById("start-status");
    if (!status) return;
    status.textContent =
      "The lab could not start (" + reason + "). It needs module scripts and WebAssembly; " +
      "a content security policy must allow 'wasm-unsafe-eval'.";
  }
  function onReady(then) {
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", then);
    else then();
  }
  if (typeof WebAssembly !== "object") {
    onReady(function () {
      fail("this browser has no WebAssembly, or it is switched off");
    });
  }
  // In the capture phase, because a script that does not load raises an error that does not bubble.
  addEventListener(
    "error",
    function (event) {
      var source = event.target && (event.target.src || event.target.href);
      fail(event.message || (source ? source + " did not load" : "unknown error"));
    },
    true
  );
  addEventListener("unhandledrejection", function (event) {
    fail(String(event.reason));
  });
})();

// Works the card that is shown after a failure of the lab, which no longer runs by then.
document.addEventListener("click", function (event) {
  var button = event.target.closest("[data-recover-copy], [data-recover-restart]");
  if (!button) return;
  var restart = button.getAttribute("data-recover-restart");
  if (restart !== null) {
    var query = new URLSearchParams(location.search);
    if (restart) query.set("scenario", restart);
    history.replaceState(null, "", location.pathname + (query.size ? "?" + query : ""));
    location.reload();
    return;
  }
  var report = document.querySelector(".panic-report textarea");
  report.select();
  function copied() {
    button.textContent = button.getAttribute("data-recover-copy");
  }
  if (navigator.clipboard) navigator.clipboard.writeText(report.value).then(copied, function () {});
  else if (document.execCommand("copy")) copied();
});
