import { ownTimesFunction } from '../page/own-times.ts';

/**
 * Script of the status page. It applies only the differences of the server's new parts, so that focus, scroll position
 * and open tables stay. A part with selected text is updated when the selection ends.
 * While the page is hidden, no updates are requested and the title says so. The server sends an event every 5 s. After
 * 10 s without an event, or when the connection fails, a banner at the top says that the page is cut off.
 */
export const statusScript = `'use strict';
(() => {
  const places = new Map([...document.querySelectorAll('[data-part]')].map((place) => [place.dataset.part, place]));
  const link = document.querySelector('[data-link]');
  const banner = document.querySelector('[data-cut-off]');
  const retryMs = 10000;
  const silenceMs = 10000;
  const waiting = new Map();
  let title = document.title;
  let heardAt = new Date();
  let source;
  let retry;
  let watchdog;

  ${ownTimesFunction}

  function renew(current, fresh) {
    const before = [...current.childNodes];
    const after = [...fresh.childNodes];
    after.forEach((node, index) => {
      const old = before[index];
      if (old === undefined) current.append(node);
      else if (old.nodeName !== node.nodeName) old.replaceWith(node);
      else if (old.nodeType === Node.ELEMENT_NODE) renewElement(old, node);
      else if (old.data !== node.data) old.data = node.data;
    });
    for (const node of before.slice(after.length)) node.remove();
  }

  function renewElement(old, node) {
    for (const { name } of [...old.attributes]) {
      // Keeps a table open if the reader has opened it.
      if (!node.hasAttribute(name) && name !== 'open') old.removeAttribute(name);
    }
    for (const { name, value } of node.attributes) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    renew(old, node);
  }

  function isSelected(place) {
    const selection = document.getSelection();
    return selection !== null && !selection.isCollapsed && selection.containsNode(place, true);
  }

  function renewPlaces() {
    for (const [name, html] of waiting) {
      const place = places.get(name);
      if (place !== undefined && isSelected(place)) continue;
      waiting.delete(name);
      if (place === undefined) continue;
      const template = document.createElement('template');
      template.innerHTML = html;
      showOwnTimes(template.content);
      renew(place, template.content);
    }
  }

  function say(words) {
    if (link.textContent !== words) link.textContent = words;
  }

  function cutOff() {
    const since = heardAt.toISOString().slice(11, 19) + ' UTC';
    const words = 'No update since ' + since + ': this page shows old data.';
    if (banner.textContent !== words) banner.textContent = words;
    document.documentElement.classList.add('is-cut-off');
    document.title = 'No update since ' + since + ' · wallet-ledger';
    say('Not up to date: the connection is lost; reconnecting.');
  }

  function hear() {
    heardAt = new Date();
    clearTimeout(watchdog);
    watchdog = setTimeout(cutOff, silenceMs);
    banner.textContent = '';
    document.documentElement.classList.remove('is-cut-off');
    document.title = title;
    say('Live: this page updates itself every 5 seconds.');
  }

  function connect() {
    disconnect();
    watchdog = setTimeout(cutOff, silenceMs);
    source = new EventSource('events');
    source.onmessage = ({ data }) => {
      const page = JSON.parse(data);
      title = page.title;
      for (const [name, html] of Object.entries(page.parts)) waiting.set(name, html);
      renewPlaces();
      hear();
    };
    source.onerror = () => {
      cutOff();
      // The browser does not retry after the server refused the connection.
      if (source.readyState === EventSource.CLOSED) retry = setTimeout(connect, retryMs);
    };
  }

  function disconnect() {
    clearTimeout(retry);
    clearTimeout(watchdog);
    source?.close();
  }

  function pause() {
    disconnect();
    document.title = 'Paused · wallet-ledger';
  }

  document.addEventListener('selectionchange', () => waiting.size > 0 && renewPlaces());
  document.addEventListener('visibilitychange', () => (document.hidden ? pause() : connect()));
  showOwnTimes(document);
  if (document.hidden) pause();
  else connect();
})();
`;
