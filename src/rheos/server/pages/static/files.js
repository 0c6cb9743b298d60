// Files that somebody chooses: their text goes into a field, and the end of their name says what they are.

const TYPES = {
  ttl: "text/turtle", nt: "application/n-triples", nq: "application/n-quads", trig: "application/trig",
  jsonld: "application/ld+json", rdf: "application/rdf+xml", xml: "application/rdf+xml",
  json: "json", ndjson: "ndjson", jsonl: "ndjson", csv: "csv", tsv: "tsv",
};
const SHOWN = 200_000; // characters: a field with more is slow

/** What somebody has written, or the file that was chosen last. A long file is not shown, but sent. */
export class Upload {
  constructor(input, field, format, known = {}) {
    [this.field, this.file] = [field, null];
    input.addEventListener("change", async () => {
      const [file] = input.files;
      if (!file) return;
      const end = file.name.split(".").at(-1).toLowerCase();
      const type = known[end] || TYPES[end];
      if ([...format.options].some((option) => option.value === type)) format.value = type;
      const text = await file.text();
      this.file = text.length > SHOWN ? text : null;
      field.value = text.slice(0, SHOWN);
      field.readOnly = this.file !== null;
      field.title = this.file ? `the first ${SHOWN.toLocaleString("en")} characters of ${file.name}; all of it is sent` : "";
    });
  }

  get text() {
    return this.file ?? this.field.value;
  }
}
