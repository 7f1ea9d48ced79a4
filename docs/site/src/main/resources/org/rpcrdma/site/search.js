// Lists the sections that have each word of the question, or a word that begins with it; those in whose titles it is come first.
"use strict";
const words = (text) => text.toLowerCase().split(/[^\p{L}\p{N}_]+/u).filter((word) => word);
const has = (text, word) => (" " + text).includes(" " + word);
const question = new URLSearchParams(location.search).get("q") || "";
const asked = words(question);
const found = SECTIONS.map(([link, title, text]) => ({ link, title, titleWords: words(title).join(" "), text }))
  .map((section) => ({ ...section, hits: asked.filter((word) => has(section.titleWords, word)).length }))
  .filter((section) => asked.length && asked.every((word) => has(section.text, word) || has(section.titleWords, word)))
  .sort((one, other) => other.hits - one.hits);
document.querySelector("input[type=search]").value = question;
document.getElementById("count").textContent = asked.length ? found.length + " sections" : "";
for (const section of found) {
  const link = document.createElement("a");
  link.href = section.link;
  link.textContent = section.title;
  document.getElementById("found").appendChild(document.createElement("li")).appendChild(link);
}
