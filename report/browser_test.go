package report

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/corewait/corewait/correlate"
	"github.com/corewait/corewait/correlate/series"
	"github.com/corewait/corewait/domain"
	"github.com/corewait/corewait/internal/refcase"
)

// referencePage writes the reference case's page to a file and gives its address.
func referencePage(t *testing.T) string {
	t.Helper()
	b := series.NewBuilder(domain.WatchLGWR(), domain.Window{})
	if _, err := refcase.Reference().Generate(b); err != nil {
		t.Fatal(err)
	}
	choices, _, err := b.Instances(series.Choice{Node: "db1", InstID: series.AnyInstID})
	if err != nil {
		t.Fatal(err)
	}
	s := b.Build(choices[0])
	zone := "+09:00"
	f := correlate.Analyze(s, correlate.DefaultParams())
	f.Timezone.Host = &zone
	name := filepath.Join(t.TempDir(), "demo.html")
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := HTML(out, []Illustrated{{f, s}}); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return (&url.URL{Scheme: "file", Path: name}).String()
}

// chromium gives the browser: the one that COREWAIT_CHROMIUM names, else one on
// the path.
func chromium(t *testing.T) string {
	t.Helper()
	if name := os.Getenv("COREWAIT_CHROMIUM"); name != "" {
		return name
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	t.Skip("SKIPPED: no chromium is installed (apt-get install chromium, or name one in COREWAIT_CHROMIUM)")
	return ""
}

// browse starts the browser with a profile of its own.
func browse(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	return ctx
}

// complaints collects what a page should not do: errors on the console and
// requests to anywhere but its own address.
type complaints struct {
	mu   sync.Mutex
	list []string
	own  int // requests of the page itself, which show that requests are seen
}

func (c *complaints) add(s string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, s)
}

func (c *complaints) listen(ctx context.Context, t *testing.T, own string) {
	t.Helper()
	must(t, chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			c.add("exception: " + e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			c.add("console: " + string(e.Type))
		case *log.EventEntryAdded:
			c.add("log: " + e.Entry.Text)
		case *network.EventRequestWillBeSent:
			if e.Request.URL != own && !strings.HasPrefix(e.Request.URL, "data:") {
				c.add("request: " + e.Request.URL)
			} else if e.Request.URL == own {
				c.own++
			}
		}
	}))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// do runs an action of the browser.
func do[T any](ctx context.Context, t *testing.T, action chromedp.Action[T]) T {
	t.Helper()
	v, err := chromedp.Run(ctx, action)
	must(t, err)
	return v
}

// heatmapPixels draws the heatmap's picture on a canvas: its natural size, how
// many colours it has, and the mean lightness of CPU 28's row (socket 3 is the
// last quarter of 64 rows; CPU 28 its fifth) and of CPU 8's, the first of socket 1.
const heatmapPixels = `new Promise((done, failed) => {
	const picture = new Image();
	picture.onerror = () => failed(new Error("the heatmap is no picture"));
	picture.onload = () => {
		const canvas = document.createElement("canvas");
		canvas.width = picture.naturalWidth; canvas.height = picture.naturalHeight;
		const ground = canvas.getContext("2d", {willReadFrequently: true});
		ground.drawImage(picture, 0, 0);
		const row = (k) => {
			const d = ground.getImageData(0, Math.floor((k + 0.5) * canvas.height / 64), canvas.width, 1).data;
			let sum = 0;
			for (let i = 0; i < d.length; i += 4) sum += d[i] + d[i+1] + d[i+2];
			return sum / canvas.width / 3;
		};
		const all = new Uint32Array(ground.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
		done({width: canvas.width, height: canvas.height, colours: new Set(all).size, busy: row(48 + 4), quiet: row(16)});
	};
	picture.src = document.querySelector("image.heat").href.baseVal;
})`

type pixels struct {
	Width   int     `json:"width"`
	Height  int     `json:"height"`
	Colours int     `json:"colours"`
	Busy    float64 `json:"busy"`
	Quiet   float64 `json:"quiet"`
}

func TestABrowserShowsTheReferenceCase(t *testing.T) {
	t.Parallel()
	address := referencePage(t)
	ctx := browse(t)
	var seen complaints
	seen.listen(ctx, t, address)
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	must(t, err)
	_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	must(t, err)
	do(ctx, t, chromedp.EmulateViewport(1280, 900))
	do(ctx, t, chromedp.Navigate(address))
	if n := do(ctx, t, chromedp.Evaluate[int](`document.scripts.length`)); n != 0 {
		t.Errorf("%d scripts", n)
	}
	if w := do(ctx, t, chromedp.Evaluate[float64](`document.querySelector("image.heat").getBoundingClientRect().width`)); w < 840 {
		t.Errorf("the heatmap is %.0f wide on a screen of 1280: columns are lost", w)
	}
	p := do(ctx, t, chromedp.Evaluate[pixels](heatmapPixels, chromedp.EvalAwaitPromise))
	if p.Width != 840 || p.Height != 576 || p.Colours < 20 || p.Busy < p.Quiet+60 {
		t.Errorf("heatmap %+v: want 840 x 576, many colours, and CPU 28 much brighter than CPU 8", p)
	}
	for _, width := range []int64{390, 1280} {
		for _, theme := range []string{"light", "dark"} {
			checkLook(ctx, t, width, theme)
		}
	}
	keepPDF(ctx, t)
	seen.mu.Lock()
	defer seen.mu.Unlock()
	for _, c := range seen.list {
		t.Error(c)
	}
	if seen.own == 0 {
		t.Error("not even the page's own request was seen: the watch for requests does not work")
	}
}

// checkLook shows the page at a width and theme: nothing may stick out, and the
// ground must follow the theme.
func checkLook(ctx context.Context, t *testing.T, width int64, theme string) {
	t.Helper()
	do(ctx, t, chromedp.EmulateViewport(width, 900))
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
	})
	must(t, err)
	wide := do(ctx, t, chromedp.Evaluate[int64](`document.documentElement.scrollWidth`))
	ground := do(ctx, t, chromedp.Evaluate[string](`getComputedStyle(document.body).backgroundColor`))
	if wide > width {
		t.Errorf("the page is %d wide on a screen of %d", wide, width)
	}
	if want := map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(20, 22, 26)"}[theme]; ground != want {
		t.Errorf("%s theme has the ground %s, want %s", theme, ground, want)
	}
	if os.Getenv("COREWAIT_SCREENSHOTS") == "" {
		return
	}
	shot := do(ctx, t, chromedp.FullScreenshot(100))
	keep(t, "demo-"+map[bool]string{true: "phone", false: "desktop"}[width < 800]+"-"+theme+".png", shot)
}

// keepPDF prints the page to A4 where screenshots are wanted.
func keepPDF(ctx context.Context, t *testing.T) {
	t.Helper()
	if os.Getenv("COREWAIT_SCREENSHOTS") == "" {
		return
	}
	pdf := do(ctx, t, chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize(), chromedp.PDFPrintBackground()))
	keep(t, "demo.pdf", pdf)
}

// keep writes a file to the repository's out folder.
func keep(t *testing.T, name string, content []byte) {
	t.Helper()
	dir := filepath.Join("..", "out")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}
