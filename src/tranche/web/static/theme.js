// Before anything is drawn, so that a dark page does not flash white.
const chosen = localStorage.getItem("theme");
if (chosen) document.documentElement.dataset.theme = chosen;
