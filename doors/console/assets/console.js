// Makes pages nicer; nothing needs it.
'use strict';

for (const button of document.querySelectorAll('[data-copy]')) {
  if (!navigator.clipboard) break;
  button.hidden = false;
  button.addEventListener('click', async () => {
    const text = button.parentElement.querySelector('code').textContent;
    const words = button.firstChild;
    try {
      await navigator.clipboard.writeText(text);
      words.textContent = 'Copied';
    } catch {
      words.textContent = 'Not copied';
    }
    setTimeout(() => { words.textContent = 'Copy'; }, 2000);
  });
}

// A form is sent once, however often its button is pressed.
for (const form of document.querySelectorAll('form[method=post]')) {
  form.addEventListener('submit', (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = 'yes';
  });
}
addEventListener('pageshow', () => { for (const form of document.forms) delete form.dataset.sent; });

// The first mistake of a form, or the search by its key.
document.querySelector('[aria-invalid=true]')?.focus();
addEventListener('keydown', (event) => {
  const typing = event.target.closest?.('input, textarea, select');
  const search = document.querySelector('[role=search] input');
  if (event.key === '/' && !typing && search && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    search.focus();
    search.select();
  }
});

// A page that waits for something is loaded again, while somebody looks at it: for half an hour from when they last did
// anything, so that a page that was left open keeps nobody signed in. Whoever has opened or shut a part of it is reading: the
// page stays as it is until that is undone.
const waiting = document.querySelector('[data-refresh]');
if (waiting) {
  const parts = [...document.querySelectorAll('details')].map((part) => [part, part.open]);
  const untouched = () => parts.every(([part, open]) => part.open === open);
  const here = () => sessionStorage.setItem('here', Date.now());
  const reloaded = performance.getEntriesByType('navigation')[0]?.type === 'reload';
  if (!reloaded || !sessionStorage.getItem('here')) here();
  for (const sign of ['keydown', 'pointerdown', 'wheel', 'touchmove']) addEventListener(sign, here, { passive: true });
  const lately = () => Date.now() - Number(sessionStorage.getItem('here')) < 30 * 60 * 1000;
  setInterval(() => {
    if (!document.hidden && untouched() && lately()) location.reload();
  }, Number(waiting.dataset.refresh) * 1000);
}

// A choice in a filter is shown at once.
for (const select of document.querySelectorAll('.filters select')) {
  select.addEventListener('change', () => select.form.requestSubmit());
}

// On a narrow screen the pages are a row that scrolls: the one that is open is brought into it.
const here = document.querySelector('.side [aria-current]');
const row = here?.closest('nav');
if (row && row.scrollWidth > row.clientWidth) row.scrollLeft = here.offsetLeft - row.offsetLeft - 16;
