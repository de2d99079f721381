/**
 * A function of the pages' scripts. It shows the reader's local time beside each time written in UTC, and has both in
 * the title where a page says how long ago something was. Without script there is only UTC.
 */
export const ownTimesFunction = `function showOwnTimes(root) {
  const pad = (number) => String(number).padStart(2, '0');
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const place of root.querySelectorAll('time[datetime]')) {
    const time = new Date(place.dateTime);
    if (Number.isNaN(time.getTime())) continue;
    const day = [time.getFullYear(), pad(time.getMonth() + 1), pad(time.getDate())].join('-');
    const clock = pad(time.getHours()) + ':' + pad(time.getMinutes());
    const utc = time.toISOString();
    const isElsewhere = time.getTimezoneOffset() !== 0;
    if (!/^\\d+-\\d\\d-\\d\\d/.test(place.textContent)) {
      const exact = utc.slice(0, 19).replace('T', ' ') + ' UTC';
      place.title = isElsewhere ? exact + ', ' + day + ' ' + clock + ' ' + zone : exact;
    } else if (isElsewhere) {
      const own = document.createElement('span');
      own.className = 'own-time';
      own.title = zone;
      own.textContent = (utc.startsWith(day) ? '' : day + ' ') + clock;
      place.after(' ', own);
    }
  }
}`;

/** Script of the pages to look things up. */
export const timesScript = `'use strict';
(() => {
  ${ownTimesFunction}
  showOwnTimes(document);
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (new Date().getTimezoneOffset() !== 0)
    document.querySelector('[data-own-zone]').textContent = ', those in grey are of ' + zone;
})();
`;
