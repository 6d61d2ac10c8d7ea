// Runs before first paint: puts the wanted colour scheme on <html>, so that neither page nor canvas flashes in the wrong one.
(function () {
  var want = null;
  try {
    want = localStorage.getItem('stoker-scheme');
  } catch (e) {
    /* storage may be refused; the system's scheme is right then */
  }
  if (want !== 'light' && want !== 'dark') want = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  document.documentElement.setAttribute('data-mantine-color-scheme', want);
})();
