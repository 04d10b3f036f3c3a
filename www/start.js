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
